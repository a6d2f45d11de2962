// A model server that does not listen: the log has one line, with the system's reason.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asking, post } from '../completions/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer } from '../helpers/server.ts'
import { startUpstream } from '../helpers/upstream.ts'

for (const [what, environment, model] of [
  ['of OpenAI’s protocol', (origin: string) => ({ SVC_MODEL_SERVERS: `mine=${origin}/v1` }), 'mine/x'],
  [
    'of Anthropic',
    (origin: string) => ({ ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: 'key-of-a-test' }),
    'anthropic/x',
  ],
] as const)
  test(`an unreachable server ${what} has one log line with one reason`, async () => {
    const upstream = await startUpstream()
    await upstream[Symbol.asyncDispose]()
    const { log, lines } = keptLog()
    await using server = await startServer({ log, environment: environment(upstream.origin) })
    assert.equal((await post(server, asking({ model }))).status, 502)
    const told = lines.filter((line) => line.includes('nothing listens')).map((line) => JSON.parse(line))
    assert.equal(told.length, 1)
    const { message } = told[0].err as { message: string }
    assert.equal(message.split('nothing listens').length, 2, message)
    assert.match(message, /connect ECONNREFUSED/)
  })
