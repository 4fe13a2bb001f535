"""The steps from one schema to the next, run by `refdesk.store.schema`; a released one is final."""
