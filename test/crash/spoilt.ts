// Ways to spoil sound evidence, each with the finding that the judges must report.

import { sha256 } from '../../src/shared/hashes.ts'
import { answerTo } from './counter.ts'
import type { Evidence, FaultKind } from './evidence.ts'
import { largeOf } from './large.ts'
import { Random } from './random.ts'
import { soundEvidence } from './sound.ts'
import { plan } from './work.ts'

export type Mutable<T> = {
  -readonly [Key in keyof T]: T[Key] extends readonly (infer One)[] ? Mutable<One>[] : Mutable<T[Key]>
}
type Spoil = (evidence: Mutable<Evidence>) => void

const again = (list: { begun_at: number; since: number }[], path: string) => {
  const call = list.findLast((one) => (one as { path?: string }).path === path)!
  list.push({ ...call, begun_at: call.begun_at + 60_000, since: call.since + 60_000 })
}
const event = (sequence: number) => (one: { sequence: number }) => one.sequence === sequence

/** The change of the evidence, and the expected finding. */
export const SPOILT: Readonly<Record<string, readonly [FaultKind, RegExp, Spoil]>> = {
  'the job is gone': [
    'loss',
    /no such job/,
    (one) => Object.assign(one, { snapshot: null, log: [], tapes: [], sockets: [] }),
  ],
  'the job never ended': [
    'loss',
    /never ended/,
    (one) => Object.assign(one.snapshot!, { status: 'running', finished_at: null, result: null }),
  ],
  'an event is missing': ['gap', /after event 4 comes 6/, (one) => one.log.splice(4, 1)],
  'an event is there twice': ['double', /after event 5 comes 5/, (one) => one.log.splice(4, 0, one.log[4]!)],
  'the log ends before its end': ['gap', /does not end with its end/, (one) => one.log.pop()],
  'the job ended twice': ['double', /ended 2 times/, (one) => one.log.push({ ...one.log.at(-1)!, sequence: 16 })],
  'a state that cannot follow': [
    'contradiction',
    /from completed to running/,
    (one) => one.log.push({ ...one.log[1]!, sequence: 16 }),
  ],
  'another end than it was told': [
    'contradiction',
    /another end than its snapshot/,
    (one) => Object.assign(one.snapshot!, { finished_at: '2026-01-02T00:00:00.000Z' }),
  ],
  'an output was given twice': [
    'double',
    /output first was given 2 times/,
    (one) => one.log.splice(5, 0, { ...one.log[4]! }),
  ],
  'an output that its event does not have': [
    'contradiction',
    /output last is/,
    (one) => Object.assign(one.log[13]!, { value: 'another' }),
  ],
  'a wrong output': [
    'contradiction',
    /should have given/,
    (one) => Object.assign((one.snapshot as { result: { outputs: object } }).result.outputs, { last: 'wrong' }),
  ],
  'a state was shown that never was': [
    'contradiction',
    /shown as running at 1/,
    (one) => Object.assign(one.seen[0]!, { last_sequence: 1 }),
  ],
  'an end was shown that is another now': [
    'contradiction',
    /something else now/,
    (one) => one.seen.push({ ...one.snapshot!, updated_at: '2026-01-02T00:00:00.000Z' } as never),
  ],
  'a follower missed an event': ['gap', /an SSE follower got 6 after 4/, (one) => one.tapes[0]!.events.splice(4, 1)],
  'a follower missed the end': ['gap', /was told 14 events of 15/, (one) => one.tapes[1]!.events.pop()],
  'a follower got an event twice': [
    'double',
    /a polling follower got 5 after 5/,
    (one) => one.tapes[1]!.events.splice(4, 0, one.tapes[1]!.events[4]!),
  ],
  'a follower was told what is gone': ['loss', /event 15, which is gone/, (one) => one.log.pop()],
  'a follower was told another event': [
    'contradiction',
    /another event 4/,
    (one) => Object.assign(one.tapes[0]!.events.find(event(4))!, { node_id: 'b' }),
  ],
  'a socket missed a frame': ['gap', /the first socket/, (one) => one.sockets[0]!.frames.splice(2, 1)],
  'a socket got a frame twice': [
    'double',
    /the first socket/,
    (one) => one.sockets[0]!.frames.splice(2, 0, one.sockets[0]!.frames[1]!),
  ],
  'a socket was told a state that is not': [
    'contradiction',
    /was told suspended at 10/,
    (one) => Object.assign(one.sockets[1]!.frames[1]!, { status: 'suspended' }),
  ],
  'a socket was told another output': [
    'contradiction',
    /was told first = "other"/,
    (one) => Object.assign(one.sockets[1]!.frames[2]!, { value: 'other' }),
  ],
  'a socket was not told the end': [
    'gap',
    /was sent \d+ of \d+ frames after 10/,
    (one) => one.sockets[1]!.frames.pop(),
  ],
  'a run was answered with another result': [
    'contradiction',
    /the run was answered with completed \{\}/,
    (one) => Object.assign(one, { result: { status: 'completed', outputs: {} } }),
  ],
  'a socket was not told a changed output': ['gap', /was not told first/, (one) => one.sockets[1]!.frames.splice(2, 1)],
  'an unsafe call was made twice': ['double', /not safe to run twice/, (one) => again(one.calls, '/j1/a/0')],
  'a finished call was made again': [
    'double',
    /had finished, and ran again/,
    (one) => again(one.calls, one.calls[2]!.path),
  ],
  'a finished call was made again, which another one shows that may be made twice': [
    'double',
    /GET \/j1\/c\/\w+ had finished, and ran again 700 ms later/,
    (one) => {
      one.work = plan('chained', 'j1', '127.0.0.1:1', new Random('chained')) as never
      const carried = `/j1/kept/${answerTo('GET', one.calls[2]!.path)}`
      one.calls.splice(3, 0, { ...one.calls[2]!, method: 'PUT', path: carried, begun_at: one.calls[3]!.begun_at - 700 })
    },
  ],
  'a call was made twice without a kill': ['double', /without a kill/, (one) => one.kills.pop()],
  'a call that nothing asks for': [
    'contradiction',
    /nothing asks for/,
    (one) => Object.assign(one.calls[1]!, { path: '/j1/b/x' }),
  ],
  'a call is missing': ['loss', /completed without POST \/j1\/d/, (one) => one.calls.pop()],
  'a call before the start': ['contradiction', /before it ran/, (one) => Object.assign(one.calls[0]!, { begun_at: 0 })],
  'a call after the end': ['contradiction', /it had ended, and called/, (one) => again(one.calls, one.calls[4]!.path)],
  'a call of a job that never ran': [
    'contradiction',
    /it never ran/,
    (one) => Object.assign(one, { log: one.log.filter((each) => !('status' in each) || each.status !== 'running') }),
  ],
  'it failed for no reason': ['loss', /failed at null: interrupted/, (one) => fail(one, 'interrupted', null)],
  'it was given up before it had been interrupted twenty times': [
    'loss',
    /failed at null: interrupted/,
    (one) => givenUp(one, 19),
  ],
  'it was given up though it had got further': [
    'loss',
    /failed at null: interrupted/,
    (one) => {
      givenUp(one, 20)
      const at = one.log.findLastIndex((event) => event.type === 'job_status' && event.status === 'recovering')
      one.log.splice(at, 0, soundEvidence().log[4] as never)
    },
  ],
  'it was given up at a node that had finished': [
    'loss',
    /which no kill cut off/,
    (one) => fail(one, 'node_interrupted', 'a'),
  ],
  'it was cancelled by nobody': [
    'loss',
    /nobody had asked/,
    (one) => Object.assign(one.snapshot!, { status: 'cancelled' }),
  ],
  'its cancellation was forgotten': [
    'loss',
    /without a trace/,
    (one) => Object.assign(one, { cancelled: true, seen: [] }),
  ],
  'a sent value is missing': ['loss', /values that were sent, 2 are missing/, (one) => fed(one, ['0', '1'])],
  'a sent value came twice': ['double', /1 came twice/, (one) => fed(one, ['0', '1', '1', '2'])],
  'a value was never sent': ['contradiction', /9 were never sent/, (one) => fed(one, ['0', '1', '2', '9'])],
  'values changed places': ['contradiction', /the values came as 1,0,2/, (one) => fed(one, ['1', '0', '2'])],
  'it left an asset that nothing asks for': ['contradiction', /nothing asks for/, (one) => one.saved.push(KEPT)],
  'its asset is gone': ['loss', /its asset is gone/, (one) => saving(one, [])],
  'its asset has other bytes': [
    'loss',
    /its asset .* is another/,
    (one) => saving(one, [{ ...KEPT, found: 'another' }]),
  ],
  'it left its asset twice': ['double', /keeps 2 assets/, (one) => saving(one, [KEPT, KEPT])],
  'a retry did again what had finished': [
    'double',
    /in the job that was retried/,
    (one) => Object.assign(one, { retry_of: soundEvidence() }),
  ],
}

function fail(one: Mutable<Evidence>, type: string, node_id: string | null): void {
  const error = { type, node_id, message: 'It failed.', retryable: true }
  Object.assign(one.snapshot!, { status: 'failed', result: null, error })
}

/** The job was interrupted this often at its first call, and then given up. */
export function givenUp(one: Mutable<Evidence>, times: number): void {
  const [end, running] = [one.log.at(-1)!, one.log[1]!]
  const again = [{ ...running, status: 'recovering' }, running]
  const lives = Array.from({ length: times }, () => again).flat()
  const whole = [...one.log.slice(0, 3), ...lives, { ...end, status: 'failed' }] as Mutable<Evidence>['log']
  one.log = whole.map((event, at) => ({ ...event, sequence: at + 1 }))
  fail(one, 'interrupted', null)
}

const CONTENT = sha256(largeOf(answerTo('GET', '/j1/big/0')))
const KEPT = { job_id: 'job', sha256: CONTENT, found: CONTENT }

/** The same job, as if it had to save an asset, with these saved assets. */
function saving(one: Mutable<Evidence>, saved: Mutable<Evidence>['saved']): void {
  one.work = plan('saving', 'j1', '127.0.0.1:1', new Random('saving')) as never
  one.saved = saved
}

/** The same job, as if these values had been sent to it; the client sent 0, 1 and 2. */
function fed(one: Mutable<Evidence>, echo: string[]): void {
  one.work = plan('fed', 'j1', '127.0.0.1:1', new Random('fed')) as never
  one.pushed = ['0', '1', '2']
  Object.assign((one.snapshot as { result: object }).result, { outputs: { echo, each_out: [] } })
}
