// Checks of the issues and the cost in all preflight reports.

import { CheckFindings } from '../check-outcomes.ts'
import { storeOwnWorkflow, storeSampleWorkflow } from '../job-actions.ts'
import { isMap, isSameJson, type JsonMap, listOf, mapOf, walkMembers } from '../json.ts'
import { exerciseServer } from '../operation-survey.ts'
import { brokenGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'

type IssuePlace = readonly [node_id: string | null, pin_name: string | null]

/** The expected position of the issue of each input. */
const INPUT_ISSUES: readonly [inputs: JsonMap, code: string, IssuePlace][] = [
  [{ count: 1, odd: 1 }, 'unknown_input', [null, 'odd']],
  [{}, 'missing_input', ['in_count', 'count']],
  [{ count: 'many' }, 'input_type_mismatch', ['in_count', 'count']],
  [{ count: 0 }, 'input_below_minimum', ['in_count', 'count']],
  [{ count: 6 }, 'input_above_maximum', ['in_count', 'count']],
]
const GRAPH_ISSUES: readonly [word: string, IssuePlace][] = [
  ['unknown_node', ['odd', null]],
  ['duplicate_id', ['in_name', null]],
  ['fan_in', ['greet', 'b']],
  ['type_mismatch', ['wait', 'seconds']],
]

export async function checkIssuePlaces(t: SuiteContext): Promise<void> {
  t.requireOperations('preflightWorkflow')
  const findings = new CheckFindings()
  const look = async (workflow_id: string, inputs: JsonMap, code: string, place: IssuePlace) => {
    const json = { workflow_id, inputs }
    const answer = await t.callExpecting('preflightWorkflow', 200, {}, { json })
    const issues = listOf(mapOf(answer.body).issues).map(mapOf)
    const right = issues.some((one) => one.code === code && isSameJson([one.node_id, one.pin_name], place))
    findings.addCase(right, () => ({
      finding: `the issue ${code} is not at ${JSON.stringify(place)}`,
      request: json,
      answer: issues,
    }))
  }
  const { id } = await storeSampleWorkflow(t, 'limits')
  for (const [inputs, code, place] of INPUT_ISSUES) await look(id, inputs, code, place)
  for (const [word, place] of GRAPH_ISSUES) {
    const torn = await storeOwnWorkflow(t, word, brokenGraphs[word]!)
    await look(torn.id, { name: 'Ada' }, `graph_${word}`, place)
  }
  findings.throwIfBroken('')
}

/** The suite's workflows have no price. Any cost of other workflows has to match its confidence. */
export async function checkPreflightCost(t: SuiteContext): Promise<void> {
  t.requireOperations('preflightWorkflow')
  await exerciseServer(t)
  const findings = new CheckFindings()
  for (const level of ['static', 'availability', 'execution']) {
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const json = { workflow_id: id, level, inputs: { name: 'Ada' } }
    const answer = await t.callExpecting('preflightWorkflow', 200, {}, { json })
    const free = mapOf(answer.body).cost === null
    findings.addCase(free, () => ({
      finding: `a workflow without a price has a cost at ${level}`,
      ...toEvidenceParts(answer),
    }))
  }
  for (const answer of t.target.answers) {
    for (const { value } of walkMembers(answer.body)) {
      const fault = isMap(value) && 'confidence' in value && 'currency' in value ? findCostFault(value) : null
      findings.addCase(fault === null, () => ({ finding: fault!, ...toEvidenceParts(answer) }))
    }
  }
  findings.throwIfBroken('')
}

function findCostFault({ amount, currency, confidence, unknown_cost_nodes }: JsonMap): string | null {
  if ((amount === null) !== (currency === null))
    return 'a cost has an amount without a currency, or a currency without an amount'
  if (confidence === 'unknown' && amount !== null) return 'an unknown cost has an amount'
  const partly = confidence === 'partial' || confidence === 'unknown'
  const named = listOf(unknown_cost_nodes).length > 0
  return partly === named ? null : `a cost is ${String(confidence)}, but ${named ? 'some' : 'no'} nodes are unknown`
}
