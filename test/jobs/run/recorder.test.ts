// The log lines of failed nodes, and the redaction of results.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import { executePlan } from '../../../src/engine/runtime/execution.ts'
import { ServiceError } from '../../../src/errors.ts'
import type { RedactingTextStream } from '../../../src/jobs/run/chunk-redactor.ts'
import { createRunRecorder } from '../../../src/jobs/run/recorder.ts'
import type { Log } from '../../../src/log.ts'
import { graph, node, planOf } from '../../engine/kit.ts'
import { localHttp } from '../../net/servers.ts'

/** The stream of a text in which nothing is redacted. */
const UNREDACTED_TEXT_STREAM: RedactingTextStream = {
  push: (text) => text,
  end: () => '',
  cut: () => '',
  *cutSteps() {
    yield
    return ''
  },
  waiting: 0,
}

const job = {
  row: { id: 'j', workflow_id: 'w' },
  append() {},
  provisional() {},
  toldNode: () => false,
  publish: (_node_id: string, _output_name: string, value: unknown) => [{ value, asset: null, extras: [], text: null }],
  publishRest: () => [],
  redact: <T>(value: T) => value,
  redactMessage: (text: string) => text,
  textStream: () => UNREDACTED_TEXT_STREAM,
  unwritable() {},
}

/** The lines that a run of http.Request leaves, each as its level and fields. */
async function logged(send: (() => never) | null, url: string): Promise<[string, Record<string, unknown>][]> {
  const lines: [string, Record<string, unknown>][] = []
  const level = (name: string) => (fields: Record<string, unknown>) => void lines.push([name, fields])
  const log = { error: level('error'), warn: level('warn') } as unknown as Log
  await using http = localHttp({ lookup: async () => ['10.1.2.3'] })
  const services = { ...noServices, http: send === null ? http : { send: async () => send() } }
  const { signal } = new AbortController()
  const of = graph([node('n', 'http.Request', { url })], [])
  await executePlan(planOf(of), { params: {}, signal, observer: createRunRecorder(job, log), services }).done
  return lines
}

test('a refused address is logged as one warning without a stack, with the address that clients do not see', async () => {
  const found = await logged(null, 'http://intranet.example/')
  const fields = { job_id: 'j', node_id: 'n', node_type: 'http.Request', cause: 'The name resolved to 10.1.2.3' }
  assert.deepEqual(found, [['warn', fields]])
})

test('an unexpected error is logged with its stack, and an expected failure is not logged', async () => {
  const fault = new TypeError('x is not a function')
  const broken = await logged(() => {
    throw fault
  }, 'http://x.example/')
  assert.deepEqual(
    broken.map(([level, { err }]) => [level, err]),
    [['error', fault]],
  )
  const told = await logged(() => {
    throw new NodeError('That was told.')
  }, 'http://x.example/')
  assert.deepEqual(told, [])
})

for (const code of ['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN'] as const)
  test(`no failed node is logged where the history of its job is ${code}`, async () => {
    const found = await logged(() => {
      throw new ServiceError(code)
    }, 'http://intranet.example/')
    assert.deepEqual(found, [])
  })

test('a large result is published once its secrets are replaced, which may take longer than a turn', async () => {
  const text = 'a'.repeat(20_000)
  const frames: unknown[] = []
  const slow = {
    ...job,
    append: (_event: unknown, frame: unknown) => void frames.push(frame),
    redactLarge: async <T>(value: T): Promise<T> => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      frames.push('replaced')
      return JSON.parse(JSON.stringify(value).replace(text, '[redacted]')) as T
    },
  }
  const of = graph(
    [node('large', 'constant.String', { value: text }), node('small', 'constant.String', { value: 'b' })],
    [],
  )
  const observer = createRunRecorder(slow, { error() {}, warn() {} } as unknown as Log)
  const { signal } = new AbortController()
  const outcome = await executePlan(planOf(of), { params: {}, signal, observer, services: noServices }).done
  assert.equal(outcome.status, 'completed')
  const told = frames.flatMap((frame): unknown[] => {
    if (typeof frame === 'string') return [frame]
    const { node_id, status, result } = frame as { node_id: string; status: string; result: unknown }
    return status === 'completed' ? [[node_id, result]] : []
  })
  assert.deepEqual(told, [['small', { output: 'b' }], 'replaced', ['large', { output: '[redacted]' }]])
})
