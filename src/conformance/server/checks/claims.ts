// Checks of the server's claims: its documents, its capabilities, and that it serves nothing unclaimed.
import { commandManifest } from '../../../../generated/messages.ts'
import { type OperationId, operationManifest } from '../../../../generated/operations.ts'
import { readCapabilities } from '../capabilities.ts'
import { CheckFindings, CheckSkipped, expect, RuleViolation } from '../check-outcomes.ts'
import { findOperation } from '../contract-operations.ts'
import { mapOf } from '../json.ts'
import { listClaimedMethods, type WsCommandName } from '../server-claims.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'

/** The required operations of the lifecycle profile, and the capabilities' profile of each. */
const CORE_OPERATIONS: readonly [OperationId, string | null][] = [
  ['getCapabilities', null],
  ['preflightWorkflow', 'preflight'],
  ['uploadTemporaryAsset', 'temporary_asset_upload'],
  ['listWorkflowSummaries', 'discovery'],
  ['getWorkflowInterfaces', 'discovery'],
  ['listNodeTypes', 'discovery'],
  ['listModelCatalog', 'model_catalog'],
]
const JOB_OPERATIONS: readonly OperationId[] = ['submitJob', 'getJobSnapshot', 'requestJobCancellation']

export const claimChecks: AreaChecks<'claims'> = {
  'server.claims.contract-places': async ({ claims }) => {
    if (claims.openapi === null) throw new CheckSkipped('the server serves no /openapi.json')
    const [first] = claims.misplaced
    if (first !== undefined) throw new RuleViolation(claims.misplaced.map((finding) => ({ finding })))
  },
  'server.claims.planned-operations-absent': checkPlannedOperations,
  'server.claims.planned-commands-absent': checkPlannedCommands,
  'server.claims.core-claimed': async (t) => {
    const profiles = t.hasOperation('getCapabilities') ? mapOf((await readCapabilities(t)).profiles) : {}
    const lacking = CORE_OPERATIONS.filter(([id, profile]) => {
      const state = profile === null ? undefined : profiles[profile]
      return !t.hasOperation(id) && state !== 'disabled' && state !== 'unavailable'
    })
    if (lacking.length === 0) return
    throw new RuleViolation(
      lacking.map(([id]) => ({ finding: `${id} is not claimed, and no profile of the capabilities explains it` })),
    )
  },
  'server.claims.jobs-announced': async (t) => {
    t.requireOperations('getCapabilities')
    const { jobs } = mapOf((await readCapabilities(t)).profiles)
    const claimed = JOB_OPERATIONS.filter((id) => t.hasOperation(id))
    const right = claimed.length === (jobs === 'available' ? JOB_OPERATIONS.length : 0)
    expect(
      right,
      `the profile jobs is ${String(jobs)}, but the server claims ${claimed.join(', ') || 'none of its operations'}`,
    )
  },
  'server.claims.profiles-true': checkProfilesTrue,
}

/** The operations of an unavailable profile are unclaimed, or answer that they are switched off. */
async function checkProfilesTrue(t: SuiteContext): Promise<void> {
  t.requireOperations('getCapabilities')
  const findings = new CheckFindings()
  const profiles = mapOf((await readCapabilities(t)).profiles)
  const jobs = JOB_OPERATIONS.map((id) => [id, 'jobs'] as const)
  for (const [id, profile] of [...CORE_OPERATIONS, ...jobs]) {
    if (profile === null) continue
    const state = profiles[profile]
    const claimed = t.hasOperation(id)
    const refuses = claimed && state === 'disabled' && (await isSwitchedOff(t, id))
    findings.addCase(state === 'available' ? claimed : !claimed || refuses, () => ({
      finding: `${profile} is ${String(state)}, but ${id} is ${claimed ? '' : 'not '}claimed`,
      answer: profiles,
    }))
  }
  findings.throwIfBroken('')
}

/** Whether an operation answers that it is switched off. */
async function isSwitchedOff(t: SuiteContext, id: OperationId): Promise<boolean> {
  const { method, path } = findOperation(id)
  const asked = method === 'post' ? { json: {} } : {}
  const { status } = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'conformance'), asked)
  return status === 503
}

async function checkPlannedOperations(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  for (const { operationId, method, path, access } of operationManifest) {
    if (t.hasOperation(operationId)) continue
    const others = listClaimedMethods(t.claims, path)
    const answer = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'conformance'), {})
    const expected = others.length > 0 ? [405] : [404, 405]
    // Callers that are no administrators must not learn which administrator paths exist.
    if (access === 'administrator') expected.push(403)
    findings.addCase(expected.includes(answer.status), () => ({
      finding: `${operationId} is not claimed, and answers ${answer.status} instead of ${expected.join(' or ')}`,
      ...toEvidenceParts(answer),
    }))
  }
  findings.throwIfBroken('the server claims every operation of the contract')
}

async function checkPlannedCommands(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const socket = await t.openSocket()
  const unknown = await socket.request('conformance_unknown')
  for (const command of Object.keys(commandManifest.ws) as WsCommandName[]) {
    if (t.hasCommand(command)) continue
    const reply = await socket.request(command, {})
    findings.addCase(reply.error?.code !== undefined && reply.error.code === unknown.error?.code, () => ({
      finding: `${command} is not claimed, but is answered differently from an unknown command`,
      request: { command },
      answer: reply,
    }))
  }
  findings.throwIfBroken('the server claims every command of the contract')
}
