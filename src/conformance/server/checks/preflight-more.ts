// What a preflight says of its issues and of the cost, in every report that was seen.
import { broken } from '../graphs.ts'
import { ownWorkflow, workflow } from '../jobs.ts'
import { isMap, type JsonMap, listOf, mapOf, members, same } from '../json.ts'
import { everything } from '../survey.ts'
import { shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { Findings } from '../verdicts.ts'

type Place = readonly [node_id: string | null, pin_name: string | null]

/** Where the issues of each are. */
const INPUTS: readonly [inputs: JsonMap, code: string, Place][] = [
  [{ count: 1, odd: 1 }, 'unknown_input', [null, 'odd']],
  [{}, 'missing_input', ['in_count', 'count']],
  [{ count: 'many' }, 'input_type_mismatch', ['in_count', 'count']],
  [{ count: 0 }, 'input_below_minimum', ['in_count', 'count']],
  [{ count: 6 }, 'input_above_maximum', ['in_count', 'count']],
]
const GRAPHS: readonly [word: string, Place][] = [
  ['unknown_node', ['odd', null]],
  ['duplicate_id', ['in_name', null]],
  ['fan_in', ['greet', 'b']],
  ['type_mismatch', ['wait', 'seconds']],
]

export async function issuePlaces(t: Trial): Promise<void> {
  t.needs('preflightWorkflow')
  const findings = new Findings()
  const look = async (workflow_id: string, inputs: JsonMap, code: string, place: Place) => {
    const json = { workflow_id, inputs }
    const answer = await t.good('preflightWorkflow', 200, {}, { json })
    const issues = listOf(mapOf(answer.body).issues).map(mapOf)
    const right = issues.some((one) => one.code === code && same([one.node_id, one.pin_name], place))
    findings.see(right, () => ({
      finding: `${code} is not at ${JSON.stringify(place)}`,
      request: json,
      answer: issues,
    }))
  }
  const { id } = await workflow(t, 'limits')
  for (const [inputs, code, place] of INPUTS) await look(id, inputs, code, place)
  for (const [word, place] of GRAPHS) {
    const torn = await ownWorkflow(t, word, broken[word]!)
    await look(torn.id, { name: 'Ada' }, `graph_${word}`, place)
  }
  findings.settle('')
}

/** Nothing in the suite's workflows has a price; whatever cost is told of others fits its confidence. */
export async function cost(t: Trial): Promise<void> {
  t.needs('preflightWorkflow')
  await everything(t)
  const findings = new Findings()
  for (const level of ['static', 'availability', 'execution']) {
    const { id } = await workflow(t, 'greeting')
    const json = { workflow_id: id, level, inputs: { name: 'Ada' } }
    const answer = await t.good('preflightWorkflow', 200, {}, { json })
    const free = mapOf(answer.body).cost === null
    findings.see(free, () => ({ finding: `what has no price has a cost at ${level}`, ...shown(answer) }))
  }
  for (const answer of t.target.answers) {
    for (const { value } of members(answer.body)) {
      const fault = isMap(value) && 'confidence' in value && 'currency' in value ? costFault(value) : null
      findings.see(fault === null, () => ({ finding: fault!, ...shown(answer) }))
    }
  }
  findings.settle('')
}

function costFault({ amount, currency, confidence, unknown_cost_nodes }: JsonMap): string | null {
  if ((amount === null) !== (currency === null)) return 'a cost has an amount without a currency, or the other way'
  if (confidence === 'unknown' && amount !== null) return 'a cost of which nothing is known has an amount'
  const partly = confidence === 'partial' || confidence === 'unknown'
  const named = listOf(unknown_cost_nodes).length > 0
  return partly === named ? null : `a cost is ${String(confidence)}, and ${named ? 'some' : 'no'} nodes are not known`
}
