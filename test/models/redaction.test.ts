// The credential of a provider appears in no response, no log line and no file of the service.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { serve } from '../helpers/process.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { chatting, run } from './kit.ts'

const SCRIPT = fileURLToPath(new URL('priced-server.ts', import.meta.url))
const KEY = 'sk-MarkedCredential-0123456789'

/** The files in a folder that contain the credential. */
function holding(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name)
    return statSync(path).isFile() && readFileSync(path).includes(KEY)
  })
}

test(
  'an error of a provider with its credential is logged without the credential',
  inFolder(async (folder) => {
    const environment = { SVC_SECRET_PRICED_KEY: KEY, SVC_LOG_LEVEL: 'trace', PRICED_CALLS: join(folder, 'calls') }
    await using server = await serve(folder, environment, SCRIPT)
    await using client = await connect(server)
    client.command('run_job', { job_id: 'j1', graph: chatting({ model: 'priced/small', prompt: 'leak' }) })
    const frames = await client.collect('j1')
    assert.equal(frames.at(-1)!.error, 'The provider "priced" failed to answer.')
    const { error, job_id } = await run(server, chatting({ model: 'priced/small', prompt: 'leak' }))
    assert.equal(error?.message, 'The provider "priced" failed to answer.')
    const answers = await Promise.all(
      [`/api/jobs/${job_id}`, `/api/jobs/${job_id}/events`, '/api/secrets', '/metrics'].map((path) =>
        call(server, 'GET', path, { headers: { Accept: 'application/json' } }),
      ),
    )
    server.kill('SIGTERM')
    const { stderr } = await server.ended()
    assert.match(stderr, /401: the key \[redacted\] is wrong/)
    const told = [JSON.stringify(frames), ...answers.map(({ text }) => text), stderr]
    assert.ok(told.every((text) => text !== '' && !text.includes(KEY)))
    assert.deepEqual(holding(folder), [])
  }),
)

test('a credential in the text of a model is in no event, frame or result', async () => {
  const answer = () => ({ pieces: ['the key is ', KEY, '!'] })
  const provider = pricedProvider({ credential: 'PRICED_KEY', answer })
  await using server = await startServer({ providers: [provider] })
  await call(server, 'PUT', '/api/secrets/PRICED_KEY', { body: { value: KEY } })
  await using client = await connect(server)
  client.command('run_job', { job_id: 'j1', graph: chatting({ model: 'priced/small', prompt: `is it ${KEY}` }) })
  const frames = await client.collect('j1')
  assert.deepEqual(
    frames.filter(({ type }) => type === 'chunk').map(({ content }) => content),
    ['the key is ', '[redacted]', '!', ''],
  )
  assert.equal(provider.calls[0]!.credential, KEY)
  const { text } = await call(server, 'GET', '/api/jobs/j1')
  const events = await call(server, 'GET', '/api/jobs/j1/events', { headers: { Accept: 'application/json' } })
  assert.match(text, /"the key is ","\[redacted\]","!"/)
  assert.ok([JSON.stringify(frames), text, events.text].every((one) => !one.includes(KEY)))
})
