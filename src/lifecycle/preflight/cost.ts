// Estimates the cost of a run, as far as it is known: the price of each model call, and how certain the sum is.
import type { PreflightCost } from '../../../generated/types.ts'
import type { Model, ModelPrice } from '../../models/provider.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import type { CallGraph, WorkflowUnit } from './call-explorer.ts'
import type { FiringCount } from './firing-counts.ts'
import type { NodeView } from './node-views.ts'

/** Assumed tokens of an answer if the node sets no limit, unless the model's maximum is lower. */
export const ASSUMED_OUTPUT_TOKENS = 1_000
const MILLION = 1_000_000
/** Significant digits of an amount. Sums of decimal fractions have no further meaningful digits. */
const DIGITS = 12
/** Workflows that call each other many times may cost more than a number can hold. Such an amount counts as unknown. */
const MOST_AMOUNT = 1e100

/** Number of nodes per step. */
const NODES_PER_STEP = 256

/** One call of a model by one firing of a node. */
export interface PlannedModelCall {
  /** Null if the model, or its facts, are not known. */
  readonly model: Model | null
  /** Tokens of the whole request, or null if they are not known. */
  readonly input_tokens: number | null
  /** The limit that the node sets, or null. */
  readonly max_output_tokens: number | null
}

/** Returns the model calls of a node of a unit. */
export type ModelCallLookup<Call extends PlannedModelCall = PlannedModelCall> = (
  unit: WorkflowUnit,
  view: NodeView,
) => readonly Call[]

/** A cost. A free thing has no amounts; `unknown` may cost any amount. */
interface Cost {
  /** By currency. */
  readonly amounts: ReadonlyMap<string, number>
  readonly exact: boolean
  readonly unknown: boolean
}

const FREE: Cost = { amounts: new Map(), exact: true, unknown: false }
const UNKNOWN: Cost = { amounts: new Map(), exact: false, unknown: true }

/** Returns null if no known part of the run has a cost, and no part is unknown. */
export function* estimateCostSteps({ root }: CallGraph, callsOf: ModelCallLookup): Steps<PreflightCost | null> {
  const costs = yield* estimateNodeCosts(root, callsOf, new Map())
  const nodes = yield* mapSteps(costs, (cost) => (root.recursive ? repeatCost(cost, 'unknown') : cost))
  const currency = yield* findCommonestCurrency(nodes)
  const unknown = new Set<string>()
  const known = { count: 0, amount: 0, exact: true }
  yield* forEachSteps(nodes.entries(), ([at, { amounts, exact, unknown: may_cost_more }]) => {
    const amount = currency === null ? undefined : amounts.get(currency)
    if (may_cost_more || amounts.size > (amount === undefined ? 0 : 1)) unknown.add(root.views[at]!.id)
    if (amount === undefined) return
    known.count++
    known.amount += amount
    known.exact &&= exact
  })
  if (unknown.size === 0 && known.count === 0) return null
  return {
    amount: known.count === 0 ? null : Number(known.amount.toPrecision(DIGITS)),
    currency: known.count === 0 ? null : currency,
    confidence: costConfidence(known.count, unknown.size, known.exact),
    unknown_cost_nodes: yield* sortSteps([...unknown], compareTexts),
    approval_required: false,
  }
}

function costConfidence(known: number, unknown: number, exact: boolean): PreflightCost['confidence'] {
  if (unknown > 0) return known > 0 ? 'partial' : 'unknown'
  return exact ? 'exact' : 'estimated'
}

/** Returns the cost of all firings of each node. */
function* estimateNodeCosts(
  unit: WorkflowUnit,
  callsOf: ModelCallLookup,
  units: Map<WorkflowUnit, Cost>,
): Steps<Cost[]> {
  const costs: Cost[] = []
  for (const view of unit.views) {
    const isCall = unit.tools.has(view.id) || unit.calls.has(view.id)
    const own = estimateOwnCost(callsOf(unit, view))
    costs.push(repeatCost(isCall ? yield* addCalledCosts(own, unit, view.id, callsOf, units) : own, view.firings))
    if (costs.length % NODES_PER_STEP === 0) yield
  }
  return costs
}

/** Returns the cost of the model calls of one firing. */
function estimateOwnCost(calls: readonly PlannedModelCall[]): Cost {
  return calls.length === 0 ? FREE : sumCosts(calls.map(estimateCallCost))
}

/** Adds the cost of called workflows and tools. The cost of a called workflow is computed once, however often it is called. */
function* addCalledCosts(
  own: Cost,
  unit: WorkflowUnit,
  id: string,
  callsOf: ModelCallLookup,
  units: Map<WorkflowUnit, Cost>,
): Steps<Cost> {
  const tools = unit.tools.get(id)
  if (tools !== undefined && tools.length > 0) {
    // An agent takes at least one turn. Its model decides on further turns and on tool calls.
    const used: Cost[] = []
    for (const tool of tools) used.push(tool === null ? UNKNOWN : yield* estimateUnitCost(tool, callsOf, units))
    return sumCosts([own, repeatCost(sumCosts([own, ...used]), 'unknown')])
  }
  const called = unit.calls.get(id)
  if (called === undefined) return own
  return sumCosts([own, called === null ? UNKNOWN : yield* estimateUnitCost(called, callsOf, units)])
}

function* estimateUnitCost(unit: WorkflowUnit, callsOf: ModelCallLookup, units: Map<WorkflowUnit, Cost>): Steps<Cost> {
  const known = units.get(unit)
  if (known) return known
  // A call into a cycle may run all of it. Calls inside of the cycle are counted with their own nodes.
  const members = unit.recursive ? unit.cycle : [unit]
  for (const member of members) units.set(member, FREE)
  const costs: Cost[] = []
  for (const member of members) for (const cost of yield* estimateNodeCosts(member, callsOf, units)) costs.push(cost)
  const once = sumCosts(costs)
  const cost = unit.recursive ? repeatCost(once, 'unknown') : once
  for (const member of members) units.set(member, cost)
  return cost
}

/** A node that fires for each item of a stream has an unknown cost, because the number of items is not known. */
function repeatCost(cost: Cost, firings: FiringCount): Cost {
  if (cost === FREE || firings === 'once') return cost
  if (firings === 'perhaps') return { ...cost, exact: false }
  return cost.amounts.size > 0 || cost.unknown ? UNKNOWN : FREE
}

function sumCosts(costs: readonly Cost[]): Cost {
  const paid = costs.filter((cost) => cost !== FREE)
  if (paid.length === 0) return FREE
  if (paid.length === 1 && paid[0]!.amounts.size === 0) return paid[0]!
  const amounts = new Map<string, number>()
  for (const cost of paid) {
    for (const [currency, amount] of cost.amounts) amounts.set(currency, (amounts.get(currency) ?? 0) + amount)
  }
  if ([...amounts.values()].some((amount) => amount > MOST_AMOUNT)) return UNKNOWN
  return { amounts, exact: paid.every(({ exact }) => exact), unknown: paid.some(({ unknown }) => unknown) }
}

function estimateCallCost({ model, input_tokens, max_output_tokens }: PlannedModelCall): Cost {
  const price = model?.price
  if (!price) return UNKNOWN
  if (isFree(price)) return FREE
  const { currency, per_request, per_million_input_tokens, per_million_output_tokens } = price
  const tokens = per_million_input_tokens > 0 || per_million_output_tokens > 0
  if (!tokens) return { amounts: new Map([[currency, per_request]]), exact: true, unknown: false }
  if (input_tokens === null && per_million_input_tokens > 0) return UNKNOWN
  const assumed = Math.min(ASSUMED_OUTPUT_TOKENS, model.max_output_tokens ?? ASSUMED_OUTPUT_TOKENS)
  const output = (max_output_tokens ?? assumed) * per_million_output_tokens
  const input = (input_tokens ?? 0) * per_million_input_tokens
  return { amounts: new Map([[currency, per_request + (input + output) / MILLION]]), exact: false, unknown: false }
}

function isFree(price: ModelPrice): boolean {
  return price.per_request === 0 && price.per_million_input_tokens === 0 && price.per_million_output_tokens === 0
}

/** Returns the currency that most nodes have. Amounts in other currencies are not added, and count as unknown. */
function* findCommonestCurrency(costs: readonly Cost[]): Steps<string | null> {
  const counts = new Map<string, number>()
  yield* forEachSteps(costs, ({ amounts }) => {
    for (const currency of amounts.keys()) counts.set(currency, (counts.get(currency) ?? 0) + 1)
  })
  const [first] = [...counts].sort(([a, x], [b, y]) => y - x || compareTexts(a, b))
  return first?.[0] ?? null
}
