// Level `availability`: everything that a run requires, looked for without changing anything, and what it would cost.
import type { ExecutionTarget, PreflightCost } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import type { Log } from '../log.ts'
import type { Called, Payer } from '../models/payer.ts'
import { keyCure } from '../models/provider-error.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { type AssetSource, requireAssets } from './preflight-assets.ts'
import type { Family, Unit } from './preflight-calls.ts'
import { type CallsOf, costSteps, type ModelCall } from './preflight-cost.ts'
import { type CredentialSource, Credentials } from './preflight-credentials.ts'
import type { Inputs } from './preflight-issues.ts'
import type { ModelNeed } from './preflight-model.ts'
import { ModelLook, type ModelTools } from './preflight-models.ts'
import { type Needy, needsOf } from './preflight-needs.ts'
import type { Looked, Runtime } from './preflight-probes.ts'
import { References } from './preflight-references.ts'
import { type Requirement, Requirements, type Told, told } from './preflight-requirements.ts'
import { targetRequirement } from './preflight-target.ts'
import type { Turns } from './preflight-turns.ts'

export interface AvailabilityTools extends ModelTools {
  readonly log: Log
  readonly credentials: CredentialSource
  /** The same for what providers of models are asked with: the operator may have set it for all. */
  readonly provider_credentials: CredentialSource
  readonly budgets: { payer(owner: Scope, called: Called): Payer }
  readonly assets: AssetSource
  readonly runtimes: ReadonlyMap<string, Runtime>
  /** Where this server is reached. */
  publicUrl(): string
}

export interface Asked {
  readonly owner: Scope
  readonly family: Family
  readonly inputs: Inputs
  readonly target: ExecutionTarget
  readonly turns: Turns
}

export interface Availability extends Told {
  readonly cost: PreflightCost | null
  /** What of it the operator would pay. */
  readonly operators_cost: PreflightCost | null
}

/** Looks at everything at the same time. @throws SERVICE_UNAVAILABLE where nobody waits for it any more */
export async function availabilityOf(tools: AvailabilityTools, asked: Asked): Promise<Availability> {
  const { owner, family, turns } = asked
  const into = new Requirements()
  const nodes = await needsOf(family, turns)
  const credentials = new Credentials(tools.credentials, owner)
  const models = new ModelLook(tools, new Credentials(tools.provider_credentials, owner, keyCure), turns)
  await Promise.all([
    models.ask(nodes.flatMap(modelNeeds)),
    requireRuntimes(tools, nodes, into, turns),
    referencesOf(tools, asked, nodes).then((found) =>
      requireAssets({ source: tools.assets, log: tools.log, turns }, owner, found, into),
    ),
  ])
  for (const node of nodes) {
    if (turns.over) await turns.next()
    requireOf(node, { models, credentials, into })
  }
  const target = targetRequirement(asked.target)
  if (target) into.add(target)
  const operators = paidByOperator(tools, owner, models)
  const calls = await turns.run(callSteps(nodes, (need) => ({ ...models.call(need), is_operators: operators(need) })))
  const callsOf: CallsOf<Call> = (unit, id) => calls.get(unit)?.get(id) ?? []
  const operatorsOf: CallsOf = (unit, id) => callsOf(unit, id).filter(({ is_operators }) => is_operators)
  const cost = await turns.run(costSteps(family, callsOf))
  const operators_cost = await turns.run(costSteps(family, operatorsOf))
  const sorted = await turns.run(into.sorted())
  return { ...(await turns.run(told(sorted))), cost, operators_cost }
}

/** Of a call that nobody knows yet: it may be. */
function paidByOperator({ budgets }: AvailabilityTools, owner: Scope, models: ModelLook): (need: ModelNeed) => boolean {
  return (need) => {
    const called = models.called(need)
    return called === null || budgets.payer(owner, called) === 'operator'
  }
}

interface Call extends ModelCall {
  /** Whether the operator may pay it. */
  readonly is_operators: boolean
}

/** By unit and id: what the nodes call. */
function* callSteps(
  nodes: readonly Needy[],
  callOf: (need: ModelNeed) => Call,
): Steps<Map<Unit, Map<string, readonly Call[]>>> {
  const units = new Map<Unit, Map<string, readonly Call[]>>()
  yield* forEachStep(nodes, (node) => {
    const calls = units.get(node.unit) ?? new Map<string, readonly Call[]>()
    units.set(node.unit, calls.set(node.view.id, modelNeeds(node).map(callOf)))
  })
  return units
}

function modelNeeds({ needs }: Needy): ModelNeed[] {
  return needs.filter((need) => need.kind === 'model')
}

interface Parts {
  readonly models: ModelLook
  readonly credentials: Credentials
  readonly into: Requirements
}

/** What needs no looking for, or was looked for already. */
function requireOf({ view, place, needs }: Needy, { models, credentials, into }: Parts): void {
  const details = { node_ids: [place] }
  if (!view.type) into.add(nodePack(view.node_type, place))
  for (const need of needs) {
    if (need.kind === 'model') models.require(need, place, into)
    else if (need.kind === 'credential') into.add(credentials.requirement(need.name, details))
    else if (need.kind === 'approval') into.add(approval(need.name, place))
  }
}

function nodePack(node_type: string, place: string): Requirement {
  const namespace = node_type.split('.')[0] || node_type || '(none)'
  const message = 'This server does not have all node types of this namespace that the workflow uses.'
  const common = { kind: 'node_pack', id: namespace, name: namespace, blocking: true } as const
  return { ...common, status: 'missing', message, details: { node_ids: [place] } }
}

/** Nobody knows before whether somebody will consent, and the run need not wait for that to begin. */
function approval(name: string, place: string): Requirement {
  const message = 'Somebody has to approve while it runs.'
  const common = { kind: 'approval', id: place, name: name === '' ? place : name, blocking: false } as const
  return { ...common, status: 'unknown', message, details: { node_ids: [place] } }
}

const NO_RUNTIME: Readonly<Record<Exclude<Looked<unknown>['kind'], 'known'>, string>> = {
  late: 'The runtime did not answer in time.',
  failed: 'The runtime could not be looked at.',
}

async function requireRuntimes(
  { runtimes, probes }: AvailabilityTools,
  nodes: readonly Needy[],
  into: Requirements,
  turns: Turns,
): Promise<void> {
  const needed = nodes.flatMap(({ view, place }) =>
    (view.type?.required_runtimes ?? []).map((name) => ({ name, place })),
  )
  const looks = [...Map.groupBy(needed, ({ name }) => name)].map(async ([name, uses]) => {
    const runtime = runtimes.get(name)
    const common = { kind: 'runtime', id: name, name: runtime?.title ?? name, blocking: true } as const
    const found = await stateOf(runtime, (one) => probes.runtime(one))
    for (const { place } of uses) {
      if (turns.over) await turns.next()
      into.add({ ...common, ...found, details: { node_ids: [place] } })
    }
  })
  await Promise.all(looks)
}

async function stateOf(
  runtime: Runtime | undefined,
  look: (runtime: Runtime) => Promise<Looked<Requirement['status']>>,
): Promise<Pick<Requirement, 'status' | 'message'>> {
  if (!runtime) return { status: 'missing', message: 'This server does not have it.' }
  const looked = await look(runtime)
  if (looked.kind === 'known') return { status: looked.value, message: null }
  return { status: 'unknown', message: NO_RUNTIME[looked.kind] }
}

/** In what the run is given, and in the nodes' own values. A default that is not used is not looked at, and streams have none. */
async function referencesOf(
  { publicUrl }: AvailabilityTools,
  { inputs, turns }: Asked,
  nodes: readonly Needy[],
): Promise<References> {
  const found = new References(publicUrl(), turns)
  await found.collect(inputs)
  for (const { view, unit, needs } of nodes) {
    for (const need of needs) if (need.kind === 'asset') found.add(need.reference)
    const { name, stream, value } = view.data
    if (view.type?.role !== 'input') await found.collect(view.data)
    else if (stream !== true && !unit.covered.has(String(name))) await found.collect(value)
  }
  return found
}
