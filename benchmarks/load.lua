-- Requests for wrk: the bodies of a file in turn, each optionally under its own idempotency key.
-- Arguments: file of bodies, one a line; file for sampled answers; sampling interval in answers; "keys" or "";
-- file for the result.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

function init(arguments)
  bodies, place, asked, answered, statuses = {}, 0, 0, 0, {}
  for line in io.lines(arguments[1]) do
    table.insert(bodies, line)
  end
  samples = io.open(arguments[2], "a")
  every = tonumber(arguments[3])
  result = arguments[5]
  math.randomseed(os.time() + number)
  prefix = arguments[4] == "keys" and string.format("%d-%d-", math.random(2 ^ 31 - 1), number) or nil
end

function request()
  place = place % #bodies + 1
  asked = asked + 1
  if prefix then
    wrk.headers["Idempotency-Key"] = prefix .. asked
  end
  return wrk.format("POST", nil, nil, bodies[place])
end

function response(status, headers, body)
  answered = answered + 1
  statuses[status] = (statuses[status] or 0) + 1
  if answered % every == 0 then
    samples:write((body:gsub("\n", " ")), "\n")
    samples:flush()
  end
end

function done(summary, latency, requests)
  local counts = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses")) do
      counts[status] = (counts[status] or 0) + count
    end
  end
  local shown = {}
  for status, count in pairs(counts) do
    table.insert(shown, string.format('"%d": %d', status, count))
  end
  local errors = summary.errors
  local file = io.open(threads[1]:get("result"), "w")
  file:write(string.format(
    '{"requests": %d, "seconds": %.6f, "statuses": {%s}, "errors": %d, "p50": %d, "p99": %d, "longest": %d}\n',
    summary.requests, summary.duration / 1e6, table.concat(shown, ", "),
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency.max
  ))
  file:close()
end
