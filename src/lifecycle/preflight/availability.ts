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
import { hasNeedsOfUnit, listPrompts, NeedsCollector, type NodeWithNeeds } from './node-needs.ts'
import type { NodeView } from './node-views.ts'
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
  /** False if the run needs more than was checked. */
  readonly is_complete: boolean
}

/** Runs all checks at the same time. @throws SERVICE_UNAVAILABLE if the client no longer waits */
export async function checkAvailability(tools: AvailabilityParts, asked: AvailabilityRequest): Promise<Availability> {
  const { owner, family, turns } = asked
  const into = new RequirementSet()
  const references = new AssetReferences(tools.publicUrl(), turns)
  await references.collect(asked.inputs)
  const collector = new NeedsCollector(references, turns)
  await collector.collect(family)
  const { nodes, isComplete: is_complete } = collector
  const credentials = new PreflightCredentials(tools.credentials, owner)
  const models = new ModelAvailabilityCheck(
    tools,
    new PreflightCredentials(tools.provider_credentials, owner, explainMissingKey),
    turns,
  )
  await Promise.all([
    probeModels(models, nodes, turns),
    addRuntimeRequirements(tools, nodes, into, turns),
    addAssetRequirements({ source: tools.assets, log: tools.log, turns }, owner, references, into),
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
  const callsOf: ModelCallLookup<BilledModelCall> = (unit, view) =>
    calls.get(unitOfNeeds(unit, view))?.get(view) ?? (is_complete || !view.type?.needs ? NO_CALLS : UNKNOWN_CALLS)
  const operatorsOf: ModelCallLookup = (unit, view) => {
    const calls = callsOf(unit, view)
    return calls.length === 0 ? calls : calls.filter(({ is_operators }) => is_operators)
  }
  const cost = await turns.run(estimateCostSteps(family, callsOf))
  const operators_cost = await turns.run(estimateCostSteps(family, operatorsOf))
  const sorted = await turns.run(into.sorted())
  return { ...(await turns.run(limitRequirementsSteps(sorted))), cost, operators_cost, is_complete }
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

const NO_CALLS: readonly BilledModelCall[] = []

/** The calls of a node that was not checked. */
const UNKNOWN_CALLS: readonly BilledModelCall[] = [
  { model: null, input_tokens: null, max_output_tokens: null, is_operators: true },
]

/** Returns null for a node whose needs are the same in every unit. */
function unitOfNeeds(unit: WorkflowUnit, view: NodeView): WorkflowUnit | null {
  return hasNeedsOfUnit(view) ? unit : null
}

/** Collects the model calls of the nodes, by the unit of their needs. */
function* collectModelCallsSteps(
  nodes: readonly NodeWithNeeds[],
  callOf: (need: ModelNeed) => BilledModelCall,
): Steps<Map<WorkflowUnit | null, Map<NodeView, readonly BilledModelCall[]>>> {
  const units = new Map<WorkflowUnit | null, Map<NodeView, readonly BilledModelCall[]>>()
  yield* forEachSteps(nodes, (node) => {
    const unit = unitOfNeeds(node.unit, node.view)
    const calls = units.get(unit) ?? new Map<NodeView, readonly BilledModelCall[]>()
    units.set(unit, calls.set(node.view, modelNeedsOf(node).map(callOf)))
  })
  return units
}

/** Probes the models of the nodes, and counts the prompts that they charge for. */
async function probeModels(
  models: ModelAvailabilityCheck,
  nodes: readonly NodeWithNeeds[],
  turns: AbortableTimeSlices,
): Promise<void> {
  const needs: ModelNeed[] = []
  await turns.run(
    forEachSteps(nodes, (node) => {
      for (const need of modelNeedsOf(node)) needs.push(need)
    }),
  )
  await models.probe(needs)
  for (const node of nodes) {
    if (turns.over) await turns.next()
    await models.countPrompts(modelNeedsOf(node), () => listPrompts(node))
  }
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
  const placesByName = new Map<string, string[]>()
  await turns.run(
    forEachSteps(nodes, ({ view, qualified_id }) => {
      for (const name of view.type?.required_runtimes ?? []) {
        const places = placesByName.get(name)
        if (places) places.push(qualified_id)
        else placesByName.set(name, [qualified_id])
      }
    }),
  )
  const lookups = [...placesByName].map(async ([name, places]) => {
    const runtime = runtimes.get(name)
    const common = { kind: 'runtime', id: name, name: runtime?.title ?? name, blocking: true } as const
    const found = await probeRuntimeStatus(runtime, (one) => probes.runtime(one))
    for (const place of places) {
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
