// A data folder with all kinds of data, the answers of a server on it, and the verdict on a server with a damaged copy.
import assert from 'node:assert/strict'
import type { Asset, CreatedToken, Health, JobSnapshot, RunResult, Thread, Workflow } from '../../generated/types.ts'
import { SPILL_THRESHOLD } from '../../src/jobs/values/spilled-value-store.ts'
import { StartError } from '../../src/start-error.ts'
import { isTerminalStatus } from '../crash/evidence.ts'
import { joined, of, out } from '../crash/parts.ts'
import { node } from '../engine/kit.ts'
import { type Answer as Answered, call, type ErrorBody } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { fieldsForm } from '../http/uploads-kit.ts'

export type Serving = Pick<TestServer, 'url'>

/** The preview has submissions with keys. */
export const ENVIRONMENT = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }

/** A request to a server. */
interface Question {
  readonly path: string
  /** Whether the answer is a list of independent elements, which leaves out damaged ones. */
  readonly list: boolean
  /** `GET path`, unless another method is set. */
  ask?(server: Serving): Promise<Answer>
}

interface Answer {
  /** 0 for an incomplete answer. */
  readonly status: number
  readonly text: string
}

export type Truth = ReadonlyMap<Question, Answer>

const ROUNDS = 4

/** Fills a server, and returns its answers. */
export async function fill(server: Serving): Promise<Truth> {
  const questions: Question[] = []
  const one = (...paths: string[]) => questions.push(...paths.map((path) => ({ path, list: false })))
  const list = (...paths: string[]) => questions.push(...paths.map((path) => ({ path, list: true })))
  const make = async <T>(path: string, body: object, method = 'POST') =>
    (await call<T>(server, method, path, { body })).body
  for (let at = 0; at < ROUNDS; at++) {
    const described = { name: `workflow ${at}`, description: 'd'.repeat(300), tags: [`tag${at}`], graph: ECHO }
    const { id } = await make<Workflow>('/api/workflows', { ...described, description: 'before' })
    const { etag } = await make<Workflow>(`/api/workflows/${id}`, described, 'PUT')
    const { job_id } = await make<RunResult>(`/api/workflows/${id}/run`, { params: { x: `Ada ${at}`.repeat(20) } })
    one(`/api/workflows/${id}`, `/api/jobs/${job_id}`, `/api/jobs/${job_id}/events`)
    list(`/api/workflows?tag=tag${at}`, `/api/workflows?q=workflow%20${at}`, `/api/jobs?workflow_id=${id}`)
    const submission = {
      ...{ client_request_id: 'c', idempotency_key: `order ${at}`, interface_version: 1 },
      ...{ workflow_id: id, workflow_etag: etag, inputs: { x: 'given' } },
    }
    const submitted = await make<JobSnapshot>('/api/sdk/v1/jobs', submission)
    await ended(server, submitted.job_id)
    // A repeated submission returns the existing job.
    const ask = (asked: Serving) => call(asked, 'POST', '/api/sdk/v1/jobs', { body: submission })
    questions.push({ path: `submission ${at}`, list: false, ask })
    const thread = await make<Thread>('/api/threads', { title: `thread ${at}` })
    await make(`/api/threads/${thread.id}/messages`, { role: 'user', content: `Hello ${at}` })
    one(`/api/threads/${thread.id}`, `/api/threads/${thread.id}/messages`)
    await make<CreatedToken>('/api/tokens', { name: `token ${at}`, scopes: ['read'] })
    await make(`/api/secrets/SECRET_${at}`, { value: `the secret value ${at}` }, 'PUT')
    one(`/api/secrets/SECRET_${at}`)
    const { raw, headers } = fieldsForm({ name: `notes ${at}.txt` }, { content: `content ${at} `.repeat(20) })
    const asset = (await call<Asset>(server, 'POST', '/api/assets', { raw, headers })).body
    one(`/api/assets/${asset.id}`)
    list(`/api/assets?q=notes%20${at}`)
    await call(server, 'PUT', `/api/storage/1/${at}.txt`, { raw: `object ${at}`, headers: TEXT })
    one(`/api/storage/1/${at}.txt`)
  }
  const { id: waits } = await make<Workflow>('/api/workflows', { name: 'waits', graph: WAITING })
  const { job_id } = await make<RunResult>(`/api/workflows/${waits}/run`, {})
  one(`/api/jobs/${job_id}`, `/api/jobs/${job_id}/events`)
  await make('/api/settings', { values: { 'jobs.persistence': 'job' } }, 'PUT')
  one('/api/settings')
  list('/api/workflows', '/api/jobs?limit=200', '/api/jobs?status=completed', '/api/tokens', '/api/threads')
  list('/api/assets', '/api/assets?content_type=text%2Fplain')
  const truth = await answersTo(server, questions)
  for (const [{ path }, { status, text }] of truth) assert.ok(status === 200 || status === 202, `${path}: ${text}`)
  const resume = { path: `the end of ${job_id}`, list: false, ask: (asked: Serving) => resumed(asked, job_id) }
  return new Map([...truth, [resume, { status: 200, text: 'the same value as before' }]])
}

const TEXT = { 'Content-Type': 'text/plain' }

const ECHO = joined(of([node('in', 'input.String', { name: 'x', value: 'default' })]), out('out', 'in.output'))

/** A text that differs at each run and is too large for the database. The job sends its digest before and after it waits. */
const WAITING = joined(
  of([
    node(
      'make',
      'code.JavaScript',
      { code: `return { large: 'x'.repeat(${SPILL_THRESHOLD}) + Math.random() + Date.now() }` },
      { dynamic_outputs: { large: { type: 'str', optional: false, values: [], type_args: [], type_name: null } } },
    ),
  ]),
  of([node('first', 'hash.Digest')], ['make.large->first.text']),
  of([node('wait', 'control.WaitFor', { name: 'answer' })]),
  of([node('both', 'text.Concat')], ['make.large->both.a', 'wait.value->both.b']),
  of([node('second', 'hash.Digest')], ['both.output->second.text']),
  out('before', 'first.output'),
  out('after', 'second.output'),
)

async function ended(server: Serving, job_id: string): Promise<Answered<JobSnapshot>> {
  for (;;) {
    const answer = await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)
    if (answer.status !== 200 || isTerminalStatus(answer.body.status)) return answer
  }
}

interface JobEnd {
  readonly result: { readonly outputs: Readonly<Record<string, unknown>> } | null
  readonly error: { readonly type: string } | null
}

/** Resumes the waiting job, and checks that its large value is unchanged. A job that cannot continue fails. */
async function resumed(server: Serving, job_id: string): Promise<Answer> {
  const accepted = await call(server, 'POST', `/api/jobs/${job_id}/resume`, { body: { value: '' } })
  if (accepted.status >= 300) return accepted
  const answer = await ended(server, job_id)
  if (answer.status !== 200) return answer
  const { result, error } = answer.body as unknown as JobEnd
  if (error) return { status: 500, text: JSON.stringify({ error }) }
  const { before, after } = result!.outputs
  return { status: 200, text: before === after ? 'the same value as before' : `${before}, then ${after}` }
}

async function answersTo(server: Serving, questions: Iterable<Question>): Promise<Truth> {
  const answers = new Map<Question, Answer>()
  for (const question of questions) answers.set(question, await answerTo(server, question))
  return answers
}

async function answerTo(server: Serving, { path, ask }: Question): Promise<Answer> {
  try {
    if (ask) return await ask(server)
    return await call(server, 'GET', path, { headers: { Accept: 'application/json' } })
  } catch (error) {
    // A streamed answer breaks off at damaged data.
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return { status: 0, text: '' }
    throw error
  }
}

/**
 * Returns the wrong answers of a server on `folder`: those that differ from the stored data and do not report the damage. Empty where the
 * server refuses to start.
 */
export async function servedWrongly(folder: string, truth: Truth): Promise<string[]> {
  let server: TestServer
  try {
    server = await startServer({ data_dir: folder, environment: ENVIRONMENT })
  } catch (error) {
    assert.ok(error instanceof StartError, String((error as Error).stack))
    return []
  }
  await using running = server
  const found = await answersTo(running, truth.keys())
  const health = (await call<Health>(running, 'GET', '/health')).body.services.database
  return [...truth].flatMap(([question, due]) => {
    const answer = found.get(question)!
    const isSame = answer.status === due.status && answer.text === due.text
    if (isSame || isTold(question, answer, due, health === 'damaged')) return []
    return [`${question.path} (${health}): ${answer.status} ${answer.text.slice(0, 300)}`]
  })
}

/** Errors that report unreadable data. `interrupted` is the error of a job with an unreadable journal. */
const TELLING: ReadonlySet<string> = new Set(['data_damaged', 'interrupted'])

/** Whether a different answer reports the damage. A list leaves out damaged elements, and health reports them. */
function isTold({ list }: Question, { status, text }: Answer, due: Answer, damaged: boolean): boolean {
  if (status === 0) return damaged
  if (status >= 500) return damaged || TELLING.has((JSON.parse(text) as ErrorBody).error.type)
  return damaged && list && status === 200 && isPartOf(text, due.text)
}

/** Whether a list is part of another one, in the same order. */
function isPartOf(text: string, expected: string): boolean {
  const all = elementsOf(expected)
  let from = 0
  return elementsOf(text).every((element) => {
    from = all.indexOf(element, from) + 1
    return from > 0
  })
}

function elementsOf(list: string): string[] {
  const value = JSON.parse(list) as unknown
  const found = Array.isArray(value) ? value : Object.values(value as object).find(Array.isArray)
  return (found as unknown[]).map((element) => JSON.stringify(element))
}
