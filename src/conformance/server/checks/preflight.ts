// Checks of preflights: their issues, their levels, and that they have no effect.

import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import { storeOwnWorkflow, storeSampleWorkflow } from '../job-actions.ts'
import { isSameJson, type JsonMap, listOf, mapOf, pluckTexts } from '../json.ts'
import { brokenGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks, RequirementCheck } from './check-types.ts'
import { checkIssuePlaces, checkPreflightCost } from './preflight-issues-and-cost.ts'

export const preflightChecks: AreaChecks<'preflight'> = {
  'server.preflight.runnable': async (t) => {
    const { id, etag } = await storeSampleWorkflow(t, 'greeting')
    const summary = await runPreflight(t, { workflow_id: id, workflow_etag: etag, inputs: { name: 'Ada' } })
    const right = summary.runnable === true && listErrors(summary).length === 0
    expect(
      right && summary.workflow_id === id && summary.workflow_etag === etag,
      'the report is not runnable, or belongs to another workflow',
      {},
      summary,
    )
  },
  'server.preflight.runnable-follows-issues': async (t) => {
    const findings = new CheckFindings()
    const { id } = await storeSampleWorkflow(t, 'limits')
    for (const inputs of [{ count: 3 }, {}, { count: 'x' }, { count: 9 }, { count: 1, odd: 1 }]) {
      const summary = await runPreflight(t, { workflow_id: id, inputs })
      const right = summary.runnable === (listErrors(summary).length === 0)
      findings.addCase(right, () => ({
        finding: 'runnable contradicts the issues',
        request: { inputs },
        answer: summary,
      }))
    }
    findings.throwIfBroken('')
  },
  'server.preflight.unknown-input': createIssueCheck('greeting', { name: 'Ada', odd: 1 }, 'unknown_input'),
  'server.preflight.missing-input': createIssueCheck('greeting', {}, 'missing_input'),
  'server.preflight.input-type': createIssueCheck('limits', { count: 'many' }, 'input_type_mismatch'),
  'server.preflight.input-limits': async (t) => {
    await createIssueCheck('limits', { count: 0 }, 'input_below_minimum')(t)
    await createIssueCheck('limits', { count: 6 }, 'input_above_maximum')(t)
    const { id } = await storeSampleWorkflow(t, 'limits')
    for (const count of [1, 5]) {
      const summary = await runPreflight(t, { workflow_id: id, inputs: { count } })
      expect(summary.runnable === true, 'a value at the limit is refused', { count }, summary)
    }
  },
  'server.preflight.etag': async (t) => {
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const summary = await runPreflight(t, { workflow_id: id, workflow_etag: 'conformance', inputs: { name: 'Ada' } })
    expectIssue(summary, 'workflow_etag_mismatch', {})
    expect(summary.runnable === false, 'the report is runnable with a wrong etag', {}, summary)
  },
  'server.preflight.graph-issues': async (t) => {
    const findings = new CheckFindings()
    t.requireOperations('preflightWorkflow')
    for (const [word, graph] of Object.entries(brokenGraphs)) {
      const { id } = await storeOwnWorkflow(t, word, graph)
      const summary = await runPreflight(t, { workflow_id: id, inputs: { name: 'Ada' } })
      const told = pluckTexts(listErrors(summary), 'code').includes(`graph_${word}`) && summary.runnable === false
      findings.addCase(told, () => ({
        finding: `graph_${word} is missing from the issues`,
        request: { graph },
        answer: summary,
      }))
    }
    findings.throwIfBroken('')
  },
  'server.preflight.availability': checkAvailability,
  'server.preflight.targets': checkTargets,
  'server.preflight.assets': async (t) => {
    const { id } = await storeSampleWorkflow(t, 'anything')
    const inputs = { value: { pictures: [{ of: 'asset://conformance-unknown' }] } }
    const summary = await runPreflight(t, { workflow_id: id, level: 'availability', inputs })
    const assets = listOf(summary.requirements)
      .map(mapOf)
      .filter(({ kind }) => kind === 'asset')
    const right = assets.length === 1 && assets[0]!.status !== 'available'
    expect(right, 'a nested reference to a missing asset is not reported as a missing requirement', { inputs }, summary)
  },
  'server.preflight.not-found': async (t) => {
    t.requireOperations('preflightWorkflow')
    const answers: SuiteAnswer[] = []
    for (const workflow_id of ['conformance-unknown', '../x', '%00', 'x'.repeat(512)]) {
      answers.push(await t.call('preflightWorkflow', {}, { json: { workflow_id } }))
    }
    const findings = new CheckFindings()
    for (const answer of answers) {
      const right = answer.status === 404 && mapOf(answer.body).code === 'WORKFLOW_NOT_FOUND'
      const finding = 'a missing workflow is not answered with the same WORKFLOW_NOT_FOUND'
      findings.addCase(right && isSameJson(answer.body, answers[0]!.body), () => ({
        finding,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('')
  },
  'server.preflight.issue-places': checkIssuePlaces,
  'server.preflight.cost': checkPreflightCost,
  'server.preflight.no-trace': checkNoTrace,
  'server.preflight.same-over-socket': async (t) => {
    t.requireOperations('preflightWorkflow')
    t.requireCommands('preflight_workflow')
    const { id } = await storeSampleWorkflow(t, 'limits')
    const socket = await t.openSocket()
    for (const data of [
      { workflow_id: id, inputs: { count: 7, odd: 1 } },
      { workflow_id: id, level: 'availability' },
    ]) {
      const summary = await runPreflight(t, data)
      const reply = await socket.request('preflight_workflow', data)
      expect(isSameJson(summary, reply.result), 'the socket returns a different preflight', data, {
        http: summary,
        socket: reply,
      })
    }
  },
}

async function runPreflight(t: SuiteContext, json: JsonMap): Promise<JsonMap> {
  t.requireOperations('preflightWorkflow')
  return mapOf((await t.callExpecting('preflightWorkflow', 200, {}, { json })).body)
}

function listErrors(summary: JsonMap): JsonMap[] {
  return listOf(summary.issues)
    .map(mapOf)
    .filter(({ severity }) => severity === 'error')
}

function expectIssue(summary: JsonMap, code: string, inputs: JsonMap): void {
  expect(
    pluckTexts(listErrors(summary), 'code').includes(code),
    `${code} is missing from the issues`,
    { inputs },
    summary,
  )
}

function createIssueCheck(name: 'greeting' | 'limits', inputs: JsonMap, code: string): RequirementCheck {
  return async (t) => {
    const { id } = await storeSampleWorkflow(t, name)
    expectIssue(await runPreflight(t, { workflow_id: id, inputs }), code, inputs)
  }
}

async function checkAvailability(t: SuiteContext): Promise<void> {
  const { id } = await storeSampleWorkflow(t, 'anything')
  const inputs = { value: ['asset://conformance-b', { asset_id: 'conformance-a' }, 'asset://conformance-b'] }
  const summary = await runPreflight(t, { workflow_id: id, level: 'availability', inputs })
  const requirements = listOf(summary.requirements).map(mapOf)
  const keys = requirements.map(({ kind, id: one }) => `${String(kind)} ${String(one)}`)
  const sorted = [...new Set(keys)].sort()
  expect(isSameJson(keys, sorted), 'requirements are not sorted by kind and id, or are duplicated', { inputs }, summary)
  const blocked = requirements.some(({ blocking, status }) => blocking === true && status !== 'available')
  const runnable = listErrors(summary).length === 0 && !blocked
  expect(summary.runnable === runnable, 'runnable contradicts the requirements', { inputs }, summary)
}

async function checkTargets(t: SuiteContext): Promise<void> {
  const { id } = await storeSampleWorkflow(t, 'greeting')
  const findings = new CheckFindings()
  for (const execution_target of [
    { kind: 'worker', worker_id: 'conformance-unknown' },
    { kind: 'runner', runner_id: 'conformance-unknown' },
  ]) {
    const request = { workflow_id: id, level: 'execution', inputs: { name: 'Ada' }, execution_target }
    const summary = await runPreflight(t, request)
    const worker = listOf(summary.requirements)
      .map(mapOf)
      .find(({ kind }) => kind === 'worker')
    const right = summary.runnable === false && worker !== undefined && worker.status !== 'available'
    findings.addCase(right, () => ({
      finding: 'a missing target is not reported as a missing worker',
      request,
      answer: summary,
    }))
  }
  const local = await runPreflight(t, {
    workflow_id: id,
    level: 'execution',
    inputs: { name: 'Ada' },
    execution_target: { kind: 'local' },
  })
  findings.addCase(local.runnable === true, () => ({
    finding: 'the report is not runnable at this target',
    answer: local,
  }))
  findings.throwIfBroken('')
}

async function checkNoTrace(t: SuiteContext): Promise<void> {
  const { id, etag } = await storeSampleWorkflow(t, 'greeting')
  const lists = (['listJobs', 'listWorkflows', 'listAssets'] as const).filter((list) => t.hasOperation(list))
  if (lists.length === 0) throw new CheckSkipped('the server claims no operation that lists jobs, workflows or assets')
  const state = async () => {
    const bodies: unknown[] = []
    for (const list of lists) bodies.push((await t.callExpecting(list, 200)).body)
    return bodies
  }
  const before = await state()
  for (const level of ['static', 'availability', 'execution']) {
    await runPreflight(t, { workflow_id: id, workflow_etag: etag, level, inputs: { name: 'Ada' } })
  }
  expect(isSameJson(await state(), before), `a preflight has changed ${lists.join(', ')}`, { workflow_id: id })
}
