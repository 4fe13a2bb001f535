"""The gateway: any client's request goes in and out to its model, searched where one is due."""
