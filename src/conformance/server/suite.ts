// The suite for servers. It runs the check of every requirement and reports the verdicts.
import { type ServerRequirementId, serverRequirements } from '../../../generated/requirements.ts'
import type { ConformanceReport, RequirementResult } from '../server-report.ts'
import {
  CheckSkipped,
  type Evidence,
  RuleViolation,
  ServerUnreachableError,
  SuiteStoppedError,
} from './check-outcomes.ts'
import { openSilentSocket } from './checks/keep-alive.ts'
import { openAskedSocket } from './checks/single-reply.ts'
import { serverChecks } from './checks.ts'
import { type CredentialRedactor, createCredentialRedactor } from './credential-redaction.ts'
import { SuiteContext, type SuiteContextOptions } from './suite-context.ts'

export interface ServerSuiteOptions extends SuiteContextOptions {
  /** Ids, or prefixes of ids. Empty: all requirements. */
  only: readonly string[]
}

/** Requirements that are checked last, on what has come until then. Their sockets open first. */
const LAST_CHECKS: Partial<Record<ServerRequirementId, (trial: SuiteContext) => Promise<unknown>>> = {
  'server.socket.keep-alive': openSilentSocket,
  'server.socket.one-reply': openAskedSocket,
}

/** Returns the requirements that `only` names. @throws RangeError for a name without a requirement */
export function selectRequirements(only: readonly string[]): ServerRequirementId[] {
  const ids = serverRequirements.map(({ id }) => id)
  const unknown = only.find((name) => !ids.some((id) => isNameOf(name, id)))
  if (unknown !== undefined) throw new RangeError(`there is no requirement "${unknown}"`)
  return only.length === 0 ? ids : ids.filter((id) => only.some((name) => isNameOf(name, id)))
}

function isNameOf(name: string, id: string): boolean {
  return id === name || id.startsWith(`${name}.`)
}

/** @throws ServerUnreachableError where no server answers at the URL */
export async function runServerSuite(options: ServerSuiteOptions): Promise<ConformanceReport> {
  const ids = selectRequirements(options.only)
  const requirements: RequirementResult[] = []
  const hide = createCredentialRedactor([options.token, options.operator_inputs?.other_token ?? null])
  const report = { suite: 'server' as const, url: options.url, profile: options.profile, requirements }
  await using trial = await openContext(options)
  if (trial === null) return report
  for (const id of ids) await LAST_CHECKS[id]?.(trial).catch(() => {})
  for (const requirement of sortForRun(ids)) {
    const started = performance.now()
    const verdict = await runCheck(trial, requirement.id, hide)
    // An interrupted check says nothing about the server.
    if (options.stop?.aborted) break
    const ms = Math.round(performance.now() - started)
    requirements.push({ ...requirement, ...verdict, ms })
  }
  const places = serverRequirements.map(({ id }) => id as string)
  requirements.sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id))
  return report
}

function sortForRun(ids: readonly ServerRequirementId[]) {
  const rank = (id: ServerRequirementId) => Object.keys(LAST_CHECKS).indexOf(id)
  return serverRequirements.filter(({ id }) => ids.includes(id)).sort((a, b) => rank(a.id) - rank(b.id))
}

/** Null where the suite is stopped before it has begun. */
async function openContext(options: ServerSuiteOptions): Promise<SuiteContext | null> {
  return SuiteContext.open(options).catch((error) => {
    if (error instanceof SuiteStoppedError) return null
    throw error
  })
}

async function runCheck(
  trial: SuiteContext,
  id: ServerRequirementId,
  hide: CredentialRedactor,
): Promise<Pick<RequirementResult, 'verdict' | 'reason' | 'evidence'>> {
  try {
    await serverChecks[id](trial)
    return { verdict: 'pass', reason: null, evidence: [] }
  } catch (error) {
    if (error instanceof ServerUnreachableError) throw error
    if (error instanceof CheckSkipped) return { verdict: 'skipped', reason: hide.text(error.message), evidence: [] }
    // Credentials are redacted before the evidence is truncated, because a truncated credential would not be found.
    const evidence = toEvidence(error).map(hide.evidence).map(truncateEvidence)
    return { verdict: 'fail', reason: hide.text((error as Error).message).slice(0, MAX_EVIDENCE_CHARACTERS), evidence }
  }
}

/** Any other error is the server's fault as well, such as an incomplete answer or a closed socket. */
function toEvidence(error: unknown): readonly Evidence[] {
  return error instanceof RuleViolation ? error.evidence : [{ finding: String((error as Error).stack ?? error) }]
}

/** The most characters of one finding, request or answer in a report. */
const MAX_EVIDENCE_CHARACTERS = 20_000

function truncateEvidence({ finding, request, answer }: Evidence): Evidence {
  return {
    finding: finding.slice(0, MAX_EVIDENCE_CHARACTERS),
    request: truncateValue(request),
    answer: truncateValue(answer),
  }
}

/** Returns the value, or the beginning of its JSON where that is long. */
function truncateValue(value: unknown): unknown {
  const text = JSON.stringify(value) ?? ''
  return text.length <= MAX_EVIDENCE_CHARACTERS ? value : `${text.slice(0, MAX_EVIDENCE_CHARACTERS)}…`
}
