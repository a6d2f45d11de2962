// What the server says of itself: its documents, its capabilities, and that it has nothing that it does not claim.
import { commandManifest } from '../../../../generated/messages.ts'
import { type OperationId, operationManifest } from '../../../../generated/operations.ts'
import { capabilities } from '../capabilities.ts'
import { methodsOf, type WsCommandName } from '../claims.ts'
import { mapOf } from '../json.ts'
import { infoOf } from '../operations.ts'
import { shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip, Violation } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'

/** What the lifecycle profile consists of at least, by the profile that the capabilities tell of it. */
const CORE: readonly [OperationId, string | null][] = [
  ['getCapabilities', null],
  ['preflightWorkflow', 'preflight'],
  ['uploadTemporaryAsset', 'temporary_asset_upload'],
  ['listWorkflowSummaries', 'discovery'],
  ['getWorkflowInterfaces', 'discovery'],
  ['listNodeTypes', 'discovery'],
  ['listModelCatalog', 'model_catalog'],
]
const JOBS: readonly OperationId[] = ['submitJob', 'getJobSnapshot', 'requestJobCancellation']

export const claimChecks: ChecksOf<'claims'> = {
  'server.claims.contract-places': async ({ claims }) => {
    if (claims.openapi === null) throw new Skip('the server serves no /openapi.json')
    const [first] = claims.misplaced
    if (first !== undefined) throw new Violation(claims.misplaced.map((finding) => ({ finding })))
  },
  'server.claims.planned-operations-absent': plannedOperations,
  'server.claims.planned-commands-absent': plannedCommands,
  'server.claims.core-claimed': async (t) => {
    const profiles = t.serves('getCapabilities') ? mapOf((await capabilities(t)).profiles) : {}
    const lacking = CORE.filter(([id, profile]) => {
      const state = profile === null ? undefined : profiles[profile]
      return !t.serves(id) && state !== 'disabled' && state !== 'unavailable'
    })
    if (lacking.length === 0) return
    throw new Violation(lacking.map(([id]) => ({ finding: `${id} is not claimed, and no profile says why` })))
  },
  'server.claims.jobs-announced': async (t) => {
    t.needs('getCapabilities')
    const { jobs } = mapOf((await capabilities(t)).profiles)
    const claimed = JOBS.filter((id) => t.serves(id))
    const right = claimed.length === (jobs === 'available' ? JOBS.length : 0)
    expect(
      right,
      `the profile jobs is ${String(jobs)}, and claimed are ${claimed.join(', ') || 'none of its operations'}`,
    )
  },
  'server.claims.profiles-true': profilesTrue,
}

/** What a profile that is not available consists of is not claimed, or says so when it is called. */
async function profilesTrue(t: Trial): Promise<void> {
  t.needs('getCapabilities')
  const findings = new Findings()
  const profiles = mapOf((await capabilities(t)).profiles)
  const jobs = JOBS.map((id) => [id, 'jobs'] as const)
  for (const [id, profile] of [...CORE, ...jobs]) {
    if (profile === null) continue
    const state = profiles[profile]
    const claimed = t.serves(id)
    const refuses = claimed && state === 'disabled' && (await isOff(t, id))
    findings.see(state === 'available' ? claimed : !claimed || refuses, () => ({
      finding: `${profile} is ${String(state)}, and ${id} is ${claimed ? '' : 'not '}claimed`,
      answer: profiles,
    }))
  }
  findings.settle('')
}

/** Whether an operation says that it is switched off. */
async function isOff(t: Trial, id: OperationId): Promise<boolean> {
  const { method, path } = infoOf(id)
  const asked = method === 'post' ? { json: {} } : {}
  const { status } = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'conformance'), asked)
  return status === 503
}

async function plannedOperations(t: Trial): Promise<void> {
  const findings = new Findings()
  for (const { operationId, method, path, access } of operationManifest) {
    if (t.serves(operationId)) continue
    const others = methodsOf(t.claims, path)
    const answer = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'conformance'), {})
    const expected = others.length > 0 ? [405] : [404, 405]
    // Whether a path of administrators exists is nobody else's business.
    if (access === 'administrator') expected.push(403)
    findings.see(expected.includes(answer.status), () => ({
      finding: `${operationId} is not claimed, and answers ${answer.status} where ${expected.join(' or ')} says so`,
      ...shown(answer),
    }))
  }
  findings.settle('the server claims every operation of the contract')
}

async function plannedCommands(t: Trial): Promise<void> {
  const findings = new Findings()
  const socket = await t.socket()
  const unknown = await socket.ask('conformance_unknown')
  for (const command of Object.keys(commandManifest.ws) as WsCommandName[]) {
    if (t.takes(command)) continue
    const reply = await socket.ask(command, {})
    findings.see(reply.error?.code !== undefined && reply.error.code === unknown.error?.code, () => ({
      finding: `${command} is not claimed and answered otherwise than an unknown command`,
      request: { command },
      answer: reply,
    }))
  }
  findings.settle('the server claims every command of the contract')
}
