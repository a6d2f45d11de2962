// The preflight level `availability`: it checks everything that a run requires, without changing anything, and estimates the cost.
import type { ExecutionTarget, PreflightCost } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Log } from '../../log.ts'
import type { BilledCall, BilledParty } from '../../models/billing/billed-party.ts'
import { explainMissingKey } from '../../models/provider-error.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import { AssetReferences } from './asset-references.ts'
import { type AssetLookup, addAssetRequirements } from './asset-requirements.ts'
import type { CallGraph, WorkflowUnit } from './call-explorer.ts'
import { estimateCostSteps, type ModelCallLookup, type PlannedModelCall } from './cost.ts'
import { type CredentialSource, PreflightCredentials } from './credentials.ts'
import { createTargetRequirement } from './execution-target.ts'
import type { RunInputs } from './issues.ts'
import { ModelAvailabilityCheck, type ModelAvailabilityCheckParts } from './model-availability.ts'
import type { ModelNeed } from './model-requirement.ts'
import { collectNeeds, type NodeWithNeeds } from './node-needs.ts'
import type { NodeRuntime, ProbeResult } from './probes.ts'
import {
  limitRequirementsSteps,
  type ReportedRequirements,
  RequirementSet,
  type RunRequirement,
} from './requirements.ts'

export interface AvailabilityParts extends ModelAvailabilityCheckParts {
  readonly log: Log
  readonly credentials: CredentialSource
  /** The credentials for model providers, which the operator may have set for all owners. */
  readonly provider_credentials: CredentialSource
  readonly budgets: { payer(owner: OwnerScope, called: BilledCall): BilledParty }
  readonly assets: AssetLookup
  readonly runtimes: ReadonlyMap<string, NodeRuntime>
  /** The URL of this server. */
  publicUrl(): string
}

export interface AvailabilityRequest {
  readonly owner: OwnerScope
  readonly family: CallGraph
  readonly inputs: RunInputs
  readonly target: ExecutionTarget
  readonly turns: AbortableTimeSlices
}

export interface Availability extends ReportedRequirements {
  readonly cost: PreflightCost | null
  /** The part of the cost that the operator would pay. */
  readonly operators_cost: PreflightCost | null
}

/** Runs all checks at the same time. @throws SERVICE_UNAVAILABLE if the client no longer waits */
export async function checkAvailability(tools: AvailabilityParts, asked: AvailabilityRequest): Promise<Availability> {
  const { owner, family, turns } = asked
  const into = new RequirementSet()
  const nodes = await collectNeeds(family, turns)
  const credentials = new PreflightCredentials(tools.credentials, owner)
  const models = new ModelAvailabilityCheck(
    tools,
    new PreflightCredentials(tools.provider_credentials, owner, explainMissingKey),
    turns,
  )
  await Promise.all([
    models.probe(nodes.flatMap(modelNeedsOf)),
    addRuntimeRequirements(tools, nodes, into, turns),
    collectAssetReferences(tools, asked, nodes).then((found) =>
      addAssetRequirements({ source: tools.assets, log: tools.log, turns }, owner, found, into),
    ),
  ])
  for (const node of nodes) {
    if (turns.over) await turns.next()
    addNodeRequirements(node, { models, credentials, into })
  }
  const target = createTargetRequirement(asked.target)
  if (target) into.add(target)
  const operators = createOperatorPaysCheck(tools, owner, models)
  const calls = await turns.run(
    collectModelCallsSteps(nodes, (need) => ({ ...models.describeCall(need), is_operators: operators(need) })),
  )
  const callsOf: ModelCallLookup<BilledModelCall> = (unit, id) => calls.get(unit)?.get(id) ?? []
  const operatorsOf: ModelCallLookup = (unit, id) => callsOf(unit, id).filter(({ is_operators }) => is_operators)
  const cost = await turns.run(estimateCostSteps(family, callsOf))
  const operators_cost = await turns.run(estimateCostSteps(family, operatorsOf))
  const sorted = await turns.run(into.sorted())
  return { ...(await turns.run(limitRequirementsSteps(sorted))), cost, operators_cost }
}

/** Returns a function that says whether the operator may pay for a call. For a call that is not known yet it returns true. */
function createOperatorPaysCheck(
  { budgets }: AvailabilityParts,
  owner: OwnerScope,
  models: ModelAvailabilityCheck,
): (need: ModelNeed) => boolean {
  return (need) => {
    const called = models.resolveBillableCall(need)
    return called === null || budgets.payer(owner, called) === 'operator'
  }
}

interface BilledModelCall extends PlannedModelCall {
  /** Whether the operator may pay for the call. */
  readonly is_operators: boolean
}

/** Collects the model calls of the nodes, by unit and node id. */
function* collectModelCallsSteps(
  nodes: readonly NodeWithNeeds[],
  callOf: (need: ModelNeed) => BilledModelCall,
): Steps<Map<WorkflowUnit, Map<string, readonly BilledModelCall[]>>> {
  const units = new Map<WorkflowUnit, Map<string, readonly BilledModelCall[]>>()
  yield* forEachSteps(nodes, (node) => {
    const calls = units.get(node.unit) ?? new Map<string, readonly BilledModelCall[]>()
    units.set(node.unit, calls.set(node.view.id, modelNeedsOf(node).map(callOf)))
  })
  return units
}

function modelNeedsOf({ needs }: NodeWithNeeds): ModelNeed[] {
  return needs.filter((need) => need.kind === 'model')
}

interface RequirementSources {
  readonly models: ModelAvailabilityCheck
  readonly credentials: PreflightCredentials
  readonly into: RequirementSet
}

/** Adds the requirements of a node that need no further lookup. */
function addNodeRequirements(
  { view, qualified_id, needs }: NodeWithNeeds,
  { models, credentials, into }: RequirementSources,
): void {
  const details = { node_ids: [qualified_id] }
  if (!view.type) into.add(nodePackRequirement(view.node_type, qualified_id))
  for (const need of needs) {
    if (need.kind === 'model') models.addRequirements(need, qualified_id, into)
    else if (need.kind === 'credential') into.add(credentials.requirement(need.name, details))
    else if (need.kind === 'approval') into.add(approvalRequirement(need.name, qualified_id))
  }
}

function nodePackRequirement(node_type: string, place: string): RunRequirement {
  const namespace = node_type.split('.')[0] || node_type || '(none)'
  const message = 'This server lacks node types of this namespace that the workflow uses.'
  const common = { kind: 'node_pack', id: namespace, name: namespace, blocking: true } as const
  return { ...common, status: 'missing', message, details: { node_ids: [place] } }
}

/** A preflight cannot know whether a person will approve, and the run can begin before that. */
function approvalRequirement(name: string, place: string): RunRequirement {
  const message = 'A person has to approve during the run.'
  const common = { kind: 'approval', id: place, name: name === '' ? place : name, blocking: false } as const
  return { ...common, status: 'unknown', message, details: { node_ids: [place] } }
}

const NO_RUNTIME_MESSAGES: Readonly<Record<Exclude<ProbeResult<unknown>['kind'], 'known'>, string>> = {
  late: 'The runtime did not answer in time.',
  failed: 'The runtime could not be checked.',
}

async function addRuntimeRequirements(
  { runtimes, probes }: AvailabilityParts,
  nodes: readonly NodeWithNeeds[],
  into: RequirementSet,
  turns: AbortableTimeSlices,
): Promise<void> {
  const needed = nodes.flatMap(({ view, qualified_id }) =>
    (view.type?.required_runtimes ?? []).map((name) => ({ name, place: qualified_id })),
  )
  const lookups = [...Map.groupBy(needed, ({ name }) => name)].map(async ([name, uses]) => {
    const runtime = runtimes.get(name)
    const common = { kind: 'runtime', id: name, name: runtime?.title ?? name, blocking: true } as const
    const found = await probeRuntimeStatus(runtime, (one) => probes.runtime(one))
    for (const { place } of uses) {
      if (turns.over) await turns.next()
      into.add({ ...common, ...found, details: { node_ids: [place] } })
    }
  })
  await Promise.all(lookups)
}

async function probeRuntimeStatus(
  runtime: NodeRuntime | undefined,
  look: (runtime: NodeRuntime) => Promise<ProbeResult<RunRequirement['status']>>,
): Promise<Pick<RunRequirement, 'status' | 'message'>> {
  if (!runtime) return { status: 'missing', message: 'This server does not have this runtime.' }
  const looked = await look(runtime)
  if (looked.kind === 'known') return { status: looked.value, message: null }
  return { status: 'unknown', message: NO_RUNTIME_MESSAGES[looked.kind] }
}

/** Collects references from the inputs of the run and from the values of its nodes. Unused defaults are skipped, and streams have none. */
async function collectAssetReferences(
  { publicUrl }: AvailabilityParts,
  { inputs, turns }: AvailabilityRequest,
  nodes: readonly NodeWithNeeds[],
): Promise<AssetReferences> {
  const found = new AssetReferences(publicUrl(), turns)
  await found.collect(inputs)
  for (const { view, unit, needs } of nodes) {
    for (const need of needs) if (need.kind === 'asset') found.add(need.reference)
    const { name, stream, value } = view.data
    if (view.type?.role !== 'input') await found.collect(view.data)
    else if (stream !== true && !unit.covered.has(String(name))) await found.collect(value)
  }
  return found
}
