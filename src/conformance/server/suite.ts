// The suite for servers: every requirement is judged by its check, and the verdicts become a report.
import { type ServerRequirementId, serverRequirements } from '../../../generated/requirements.ts'
import type { ConformanceReport, Judged } from '../report.ts'
import { silentSocket } from './checks/keep-alive.ts'
import { keptSocket } from './checks/one-reply.ts'
import { serverChecks } from './checks.ts'
import { type Hiding, hiding } from './credentials.ts'
import { Trial, type TrialOptions } from './trial.ts'
import { type Evidence, Skip, Stopped, Unreachable, Violation } from './verdicts.ts'

export interface SuiteOptions extends TrialOptions {
  /** Ids, or beginnings of ids; none means all. */
  only: readonly string[]
}

/** Judged last, by what has come until then; what they need is begun first. */
const LAST: Partial<Record<ServerRequirementId, (trial: Trial) => Promise<unknown>>> = {
  'server.socket.keep-alive': silentSocket,
  'server.socket.one-reply': keptSocket,
}

/** The requirements that `only` names. @throws RangeError where a name means none */
export function selected(only: readonly string[]): ServerRequirementId[] {
  const ids = serverRequirements.map(({ id }) => id)
  const unknown = only.find((name) => !ids.some((id) => means(name, id)))
  if (unknown !== undefined) throw new RangeError(`there is no requirement "${unknown}"`)
  return only.length === 0 ? ids : ids.filter((id) => only.some((name) => means(name, id)))
}

function means(name: string, id: string): boolean {
  return id === name || id.startsWith(`${name}.`)
}

/** @throws Unreachable where nobody answers under the URL */
export async function judgeServer(options: SuiteOptions): Promise<ConformanceReport> {
  const ids = selected(options.only)
  const requirements: Judged[] = []
  const hide = hiding([options.token, options.given?.other_token ?? null])
  const report = { suite: 'server' as const, url: options.url, profile: options.profile, requirements }
  await using trial = await begun(options)
  if (trial === null) return report
  for (const id of ids) await LAST[id]?.(trial).catch(() => {})
  for (const requirement of inOrder(ids)) {
    const started = performance.now()
    const verdict = await judge(trial, requirement.id, hide)
    // What is interrupted says nothing of the server.
    if (options.stop?.aborted) break
    const ms = Math.round(performance.now() - started)
    requirements.push({ ...requirement, ...verdict, ms })
  }
  const places = serverRequirements.map(({ id }) => id as string)
  requirements.sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id))
  return report
}

function inOrder(ids: readonly ServerRequirementId[]) {
  const rank = (id: ServerRequirementId) => Object.keys(LAST).indexOf(id)
  return serverRequirements.filter(({ id }) => ids.includes(id)).sort((a, b) => rank(a.id) - rank(b.id))
}

/** Null where it is stopped before it has begun. */
async function begun(options: SuiteOptions): Promise<Trial | null> {
  return Trial.open(options).catch((error) => {
    if (error instanceof Stopped) return null
    throw error
  })
}

async function judge(
  trial: Trial,
  id: ServerRequirementId,
  hide: Hiding,
): Promise<Pick<Judged, 'verdict' | 'reason' | 'evidence'>> {
  try {
    await serverChecks[id](trial)
    return { verdict: 'pass', reason: null, evidence: [] }
  } catch (error) {
    if (error instanceof Unreachable) throw error
    if (error instanceof Skip) return { verdict: 'skipped', reason: hide.text(error.message), evidence: [] }
    // What is cut first may end within a credential.
    const evidence = evidenceOf(error).map(hide.evidence).map(clipped)
    return { verdict: 'fail', reason: hide.text((error as Error).message).slice(0, LONGEST), evidence }
  }
}

/** Whatever else goes wrong on the way is the server's doing as well: an answer cut off, a socket that closes. */
function evidenceOf(error: unknown): readonly Evidence[] {
  return error instanceof Violation ? error.evidence : [{ finding: String((error as Error).stack ?? error) }]
}

/** The most characters of one finding, request or answer in a report. */
const LONGEST = 20_000

function clipped({ finding, request, answer }: Evidence): Evidence {
  return { finding: finding.slice(0, LONGEST), request: clippedValue(request), answer: clippedValue(answer) }
}

/** The value, or the beginning of its JSON where that is long. */
function clippedValue(value: unknown): unknown {
  const text = JSON.stringify(value) ?? ''
  return text.length <= LONGEST ? value : `${text.slice(0, LONGEST)}…`
}
