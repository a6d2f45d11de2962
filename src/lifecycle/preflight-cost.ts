// What a run would cost, as far as that is known: each call of a model by the model's prices, and how sure that is.
import type { PreflightCost } from '../../generated/types.ts'
import type { Model, ModelPrice } from '../models/provider.ts'
import { compared } from '../sorting.ts'
import type { Family, Unit } from './preflight-calls.ts'
import type { Firings } from './preflight-firings.ts'

/** Tokens that an answer is taken to have where the node sets no limit, unless the model gives fewer at most. */
export const ASSUMED_OUTPUT_TOKENS = 1_000
const MILLION = 1_000_000
/** So many digits of an amount are told: sums of decimal fractions have no more that mean anything. */
const DIGITS = 12
/** Workflows that call each other many times over cost more than numbers can say: that is as good as not known. */
const MOST_AMOUNT = 1e100

/** One call of a model by one firing of a node. */
export interface ModelCall {
  /** Null where it is not known which model that is, or what there is to know of it. */
  readonly model: Model | null
  /** Tokens of all that is sent, or null where that is not known. */
  readonly input_tokens: number | null
  /** The limit that the node sets, or null. */
  readonly max_output_tokens: number | null
}

/** The calls of each node of a unit, by the node's id. */
export type CallsOf = (unit: Unit, node_id: string) => readonly ModelCall[]

/** What something costs. Free things cost nothing known; `unknown` may cost anything. */
interface Cost {
  /** By currency. */
  readonly amounts: ReadonlyMap<string, number>
  readonly exact: boolean
  readonly unknown: boolean
}

const FREE: Cost = { amounts: new Map(), exact: true, unknown: false }
const UNKNOWN: Cost = { amounts: new Map(), exact: false, unknown: true }

/** Null where nothing that is known of the run costs anything, and nothing is unknown. */
export function costOf({ root }: Family, callsOf: CallsOf): PreflightCost | null {
  const units = new Map<Unit, Cost>()
  const nodes = root.views.map(({ id, firings }) => {
    const cost = repeated(nodeCost(root, id, callsOf, units), firings)
    return { id, cost: root.recursive ? repeated(cost, 'unknown') : cost }
  })
  const currency = commonest(nodes.map(({ cost }) => cost))
  const unknown = nodes.filter(({ cost }) => cost.unknown || [...cost.amounts.keys()].some((one) => one !== currency))
  const known = nodes.filter(({ cost }) => currency !== null && cost.amounts.has(currency))
  if (unknown.length === 0 && known.length === 0) return null
  const amount = known.reduce((sum, { cost }) => sum + cost.amounts.get(currency!)!, 0)
  return {
    amount: known.length === 0 ? null : Number(amount.toPrecision(DIGITS)),
    currency: known.length === 0 ? null : currency,
    confidence: confidence(
      known.length,
      unknown.length,
      known.every(({ cost }) => cost.exact),
    ),
    unknown_cost_nodes: [...new Set(unknown.map(({ id }) => id))].sort(compared),
    approval_required: false,
  }
}

function confidence(known: number, unknown: number, exact: boolean): PreflightCost['confidence'] {
  if (unknown > 0) return known > 0 ? 'partial' : 'unknown'
  return exact ? 'exact' : 'estimated'
}

/** Of one firing. What a called workflow costs is reckoned once, however often it is called. */
function nodeCost(unit: Unit, id: string, callsOf: CallsOf, units: Map<Unit, Cost>): Cost {
  const own = callsOf(unit, id).map(callCost)
  const tools = unit.tools.get(id)
  if (tools !== undefined && tools.length > 0) {
    // At least one turn; how many more there are, and of which tools, its model decides.
    const used = tools.map((tool) => (tool === null ? UNKNOWN : unitCost(tool, callsOf, units)))
    return sum([...own, repeated(sum([...own, ...used]), 'unknown')])
  }
  const called = unit.calls.get(id)
  if (called === undefined) return sum(own)
  return sum([...own, called === null ? UNKNOWN : unitCost(called, callsOf, units)])
}

function unitCost(unit: Unit, callsOf: CallsOf, units: Map<Unit, Cost>): Cost {
  const known = units.get(unit)
  if (known) return known
  // Whoever enters a circle may run all of it. What is called inside is counted with its own nodes.
  const members = unit.recursive ? unit.cycle : [unit]
  for (const member of members) units.set(member, FREE)
  const once = sum(
    members.flatMap((member) =>
      member.views.map(({ id, firings }) => repeated(nodeCost(member, id, callsOf, units), firings)),
    ),
  )
  const cost = unit.recursive ? repeated(once, 'unknown') : once
  for (const member of members) units.set(member, cost)
  return cost
}

/** What fires as often as a stream has items costs as often: nobody knows that before. */
function repeated(cost: Cost, firings: Firings): Cost {
  if (cost === FREE || firings === 'once') return cost
  if (firings === 'perhaps') return { ...cost, exact: false }
  return cost.amounts.size > 0 || cost.unknown ? UNKNOWN : FREE
}

function sum(costs: readonly Cost[]): Cost {
  const paid = costs.filter((cost) => cost !== FREE)
  if (paid.length === 0) return FREE
  const amounts = new Map<string, number>()
  for (const cost of paid) {
    for (const [currency, amount] of cost.amounts) amounts.set(currency, (amounts.get(currency) ?? 0) + amount)
  }
  if ([...amounts.values()].some((amount) => amount > MOST_AMOUNT)) return UNKNOWN
  return { amounts, exact: paid.every(({ exact }) => exact), unknown: paid.some(({ unknown }) => unknown) }
}

function callCost({ model, input_tokens, max_output_tokens }: ModelCall): Cost {
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

/** Amounts of different currencies are not added: that of the most nodes is told, the others count as not known. */
function commonest(costs: readonly Cost[]): string | null {
  const counts = new Map<string, number>()
  for (const { amounts } of costs) {
    for (const currency of amounts.keys()) counts.set(currency, (counts.get(currency) ?? 0) + 1)
  }
  const [first] = [...counts].sort(([a, x], [b, y]) => y - x || compared(a, b))
  return first?.[0] ?? null
}
