// Failures in the log: causes of unexpected failures, one quiet line for an intended refusal, and no credentials.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../src/errors.ts'
import { createLog, type Log, logFailure, logNodeFailure } from '../src/log.ts'
import { Redactor } from '../src/redaction/redactor.ts'
import { PATIENCE_MS } from './helpers/patience.ts'

function recording() {
  const lines: [string, Record<string, unknown>][] = []
  const level = (name: string) => (fields: Record<string, unknown>) => lines.push([name, fields])
  return { lines, log: { error: level('error'), warn: level('warn'), info: level('info') } as unknown as Log }
}

test('a failure with a cause is an error, with the cause and the code', () => {
  const { lines, log } = recording()
  const cause = new Error('disk full')
  logFailure(log, new ServiceError('SERVICE_UNAVAILABLE', { cause }), { request_id: 'r1' }, 'failed')
  assert.deepEqual(lines, [['error', { request_id: 'r1', err: cause, code: 'SERVICE_UNAVAILABLE' }]])
})

test('a refusal that was meant is one line without a stack', () => {
  const { lines, log } = recording()
  logFailure(log, new ServiceError('SERVICE_UNAVAILABLE'), { request_id: 'r1' }, 'failed')
  assert.deepEqual(lines, [['info', { request_id: 'r1', code: 'SERVICE_UNAVAILABLE' }]])
})

test('what the client did wrong is not logged', () => {
  const { lines, log } = recording()
  logFailure(log, new ServiceError('INVALID_REQUEST'), {}, 'failed')
  assert.deepEqual(lines, [])
})

test('an expected failure of a node is one short line, an unexpected one has a stack', () => {
  const { lines, log } = recording()
  const cause = new Error('The name resolved to 10.0.0.1')
  logNodeFailure(log, cause, true, { job_id: 'j' })
  logNodeFailure(log, cause, false, { job_id: 'j' })
  logNodeFailure(log, 'odd', true, {})
  assert.deepEqual(lines, [
    ['warn', { job_id: 'j', cause: 'The name resolved to 10.0.0.1' }],
    ['error', { job_id: 'j', err: cause }],
    ['warn', { cause: 'odd' }],
  ])
})

const SECRET = 'correct-horse-battery'

/** A log that keeps its lines as they are written. */
function written(secrets: readonly string[] = [SECRET]) {
  const lines: string[] = []
  const log = createLog('info', new Redactor(secrets), { write: (line: string) => void lines.push(line) })
  return { log, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> }
}

test('a line without secrets is what pino writes', () => {
  const { log, lines } = written()
  log.info({ jobs: 1, list: ['a'] }, 'a "message"')
  assert.match(lines[0]!, /^\{"level":30,"time":"[^"]+","jobs":1,"list":\["a"\],"msg":"a \\"message\\""\}\n$/)
})

test('a secret is replaced in messages, fields, errors, their causes, stacks and properties', () => {
  const { log, lines } = written()
  const cause = new Error(`refused ${SECRET}`, { cause: new Error(`deeper ${Buffer.from(SECRET).toString('base64')}`) })
  const err = Object.assign(new Error('failed', { cause }), { request: { url: `/x?k=${SECRET}`, list: [SECRET] } })
  log.error({ err, [SECRET]: 1, deep: { er: { [`a ${SECRET}`]: SECRET } } }, `with ${SECRET}`)
  log.child({ of: SECRET }).info('x')
  logFailure(log, new ServiceError('INTERNAL_ERROR', { cause: err }), { request_id: 'r1' }, 'failed')
  assert.equal(lines.length, 3)
  for (const line of lines) {
    assert.ok(line.includes('[redacted]'))
    assert.ok(!line.includes(SECRET) && !line.includes(Buffer.from(SECRET).toString('base64')), line)
    assert.ok(line.endsWith('\n'))
    JSON.parse(line)
  }
})

test('values under names of secrets are replaced at any depth', () => {
  const { log, last } = written([])
  const headers = { authorization: 'Digest abc', Cookie: 'a=b', 'x-api-key': 'k', accept: 'text/html' }
  log.warn({ err: Object.assign(new Error('x'), { headers }), url: '/ws?api_key=abc&id=7', api_key: 'k' }, 'Bearer t1')
  const { err, url, api_key, msg } = last()
  assert.deepEqual((err as { headers: unknown }).headers, {
    authorization: '[redacted]',
    Cookie: '[redacted]',
    'x-api-key': '[redacted]',
    accept: 'text/html',
  })
  assert.deepEqual([url, api_key, msg], ['/ws?api_key=[redacted]&id=7', '[redacted]', 'Bearer [redacted]'])
})

test('the cause of an expected failure is cut only after its secrets were replaced', () => {
  const { log, last } = written()
  logNodeFailure(log, new Error(`${'x'.repeat(490)}${SECRET}${'y'.repeat(100_000)}`), true, {})
  assert.equal(last().cause, `${'x'.repeat(490)}[redacted]`)
  logNodeFailure(log, new Error('y'.repeat(100_000)), true, {})
  assert.equal(last().cause, 'y'.repeat(500))
})

test('no user can redact words of the source code', () => {
  const lines: string[] = []
  const redactor = new Redactor(['of-the-service'])
  const log = createLog('info', redactor, { write: (line: string) => void lines.push(line) })
  const stack = (err: Error) => err.stack!.slice(err.stack!.indexOf('\n    at '))
  const err = Object.assign(new TypeError('a TypeError of-the-service\nand their-secret'), { code: 'TypeError' })
  const words = ['a job could not be resumed', 'TypeError', 'file:///', 'log.test.ts', 'INTERNAL_ERROR', 'request_id']
  for (const word of [...words, new Date().toISOString().slice(0, 8), 'their-secret']) redactor.add(word, 'somebody')
  const fields = { err, code: 'INTERNAL_ERROR', request_id: 'their-secret', job_id: 'file:///' }
  log.error(fields, 'a job could not be resumed')
  const line = JSON.parse(lines[0]!) as { err: Record<string, string> } & Record<string, unknown>
  assert.equal(line.level, 50)
  assert.ok(Number.isFinite(Date.parse(line.time as string)))
  assert.deepEqual(
    [line.msg, line.code, line.request_id, line.job_id],
    ['a job could not be resumed', 'INTERNAL_ERROR', '[redacted]', '[redacted]'],
  )
  assert.equal(line.err.type, 'TypeError')
  assert.equal(line.err.message, 'a [redacted] [redacted]\nand [redacted]')
  assert.equal(line.err.stack, `[redacted]: a [redacted] [redacted]\nand [redacted]${stack(err)}`)
  log.info('of-the-service and their-secret')
  assert.equal((JSON.parse(lines[1]!) as { msg: string }).msg, '[redacted] and their-secret')
})

test('a message that looks like a part of a stack hides nothing', () => {
  const { log, last } = written()
  log.error({ err: new Error(`x\n    at ${SECRET}\n    at y (/srv/${SECRET}.ts:1:2)\n    at z`) }, 'failed')
  assert.ok(!JSON.stringify(last()).includes(SECRET))
  log.error({ err: 'a text', list: [{ name: 'Cookie', value: 'a' }] }, 'failed')
  assert.deepEqual([last().err, last().list], ['a text', [{ name: 'Cookie', value: '[redacted]' }]])
})

test('a secret of several words after the name of a secret is hidden as a whole', () => {
  const redactor = new Redactor()
  redactor.add('correct horse battery', 'somebody')
  const lines: string[] = []
  createLog('info', redactor, { write: (line: string) => void lines.push(line) }).info({
    a: 'password=correct horse battery',
  })
  assert.ok(!lines[0]!.includes('battery'))
})

/** Writes far more than a pipe can hold, then reports it on standard output, and writes again once everything was read. */
const TALKER = `
  import { createLog } from '${new URL('../src/log.ts', import.meta.url)}'
  const log = createLog('info')
  for (let at = 0; at < 3_000; at++) log.info({ at }, 'x'.repeat(1_000))
  console.log('written')
  const drained = setInterval(() => {
    if (process.stderr.writableLength > 0) return
    clearInterval(drained)
    log.info('the last line')
  }, 5)
`

test('a log that is not read blocks nothing, and reports the number of dropped lines once it is read', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', TALKER], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const said = await Promise.race([once(child.stdout, 'data'), pause(PATIENCE_MS, ['nothing'], { ref: false })])
    assert.equal(String(said[0]), 'written\n')
    const lines = (await text(child.stderr)).trimEnd().split('\n')
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const kept = told.filter(({ at }) => at !== undefined)
    assert.deepEqual(
      kept.map(({ at }) => at),
      Array.from(kept, (_, at) => at),
    )
    assert.deepEqual(
      told.slice(kept.length).map(({ left_out, msg }) => [left_out, msg]),
      [
        [3_000 - kept.length, 'log lines were dropped because standard error was not read'],
        [undefined, 'the last line'],
      ],
    )
  } finally {
    child.kill('SIGKILL')
  }
})
