// The paths through recovery that a run has taken. A path that no job took is not tested.
import type { JobEvent } from '../../../generated/types.ts'
import type { Evidence } from '../evidence.ts'
import { isLarge } from '../large.ts'

/** Whether a job took the path. */
type Way = (evidence: Evidence) => boolean

const completed: Way = ({ snapshot }) => snapshot?.status === 'completed'
const killedAs =
  (...statuses: string[]): Way =>
  ({ kills }) =>
    kills.some(({ status }) => status !== null && statuses.includes(status))

/** Events of a kind before a kill that found the job running, and after it. */
function around({ kills, log }: Evidence, counts: (event: JobEvent) => boolean): boolean {
  const times = log.filter(counts).map(({ timestamp }) => Date.parse(timestamp))
  return kills.some(
    ({ at, status }) => status === 'running' && times.some((time) => time < at) && times.some((time) => time > at),
  )
}

/** Whether the job knew the answer to its first call after the kill: it did not repeat that call, but made others. */
const wentOn: Way = ({ kills, calls }) =>
  kills.some(({ until, status }) => {
    const after = calls.filter(({ begun_at }) => begun_at > until)
    return (
      status !== null &&
      after.length > 0 &&
      calls[0]!.begun_at < until &&
      after.every((one) => one.path !== calls[0]!.path)
    )
  })

const WAYS = {
  'a queued job was restored': (one) => killedAs('queued')(one) && completed(one),
  'a running job was recovered': (one) => killedAs('running')(one) && completed(one),
  'a suspended job was kept': (one) => killedAs('paused')(one) && completed(one),
  'a job that was cut off again while it recovered': (one) =>
    one.kills.filter(({ status }) => status === 'running' || status === 'recovering').length > 1 && completed(one),
  node_interrupted: ({ snapshot }) => snapshot?.error?.type === 'node_interrupted',
  'a call that may be made twice was made again': ({ calls }) =>
    calls.some((one, at) => one.method !== 'POST' && calls.slice(0, at).some(({ path }) => path === one.path)),
  'a chain of calls that may be made twice went on in its middle': (one) =>
    one.work?.kind === 'chained' && completed(one) && wentOn(one),
  'a stream went on in its middle': (one) =>
    completed(one) && around(one, (event) => event.type === 'output_update' && event.output_name === 'each_out'),
  'a cancellation was finished after a restart': (one) =>
    killedAs('cancel_requested')(one) && one.snapshot?.status === 'cancelled',
  'values that had been sent were restored': (one) =>
    one.work?.kind === 'fed' && killedAs('running')(one) && completed(one) && one.pushed.length > 0,
  'a called workflow was recovered inside': ({ work, kills, calls, ...one }) =>
    work?.kind === 'calling' &&
    one.snapshot?.status === 'completed' &&
    kills.some(({ at }) => calls.some(({ begun_at }) => begun_at < at) && calls.some(({ begun_at }) => begun_at > at)),
  'a large value was read back after a kill': (one) =>
    one.work !== null && isLarge(one.work.kind) && completed(one) && wentOn(one),
  'a result in several parts was given': (one) => one.work?.kind === 'giving' && completed(one),
  'a retry took over a large value': (one) => one.work?.kind === 'stumbling' && one.retry_of !== null && completed(one),
  'an asset was kept by a job': ({ work, saved }) => work?.kind === 'saving' && saved.length > 0,
  'a retry reused what had finished': (one) =>
    one.retry_of !== null &&
    completed(one) &&
    one.retry_of.calls.some(({ path }) => !one.calls.some((own) => own.path === path)),
} as const satisfies Record<string, Way>

export type WayName = keyof typeof WAYS

/** Counts the jobs of each path. */
export function coverage(all: readonly Evidence[]): Record<WayName, number> {
  const names = Object.keys(WAYS) as WayName[]
  return Object.fromEntries(names.map((name) => [name, all.filter(WAYS[name] as Way).length])) as Record<
    WayName,
    number
  >
}
