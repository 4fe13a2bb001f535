-- For wrk: post the file that $BODY names, and say in one line what came of it.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
file:close()
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer sk-bench"
wrk.headers["anthropic-version"] = "2023-06-01"
wrk.headers["user-agent"] = "bench/1.0"

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %.1f %.1f %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
