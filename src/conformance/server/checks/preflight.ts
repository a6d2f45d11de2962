// Preflight: its issues, its levels and that it leaves nothing behind.
import { broken } from '../graphs.ts'
import { ownWorkflow, workflow } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, namesOf, same } from '../json.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip } from '../verdicts.ts'
import type { Check, ChecksOf } from './check.ts'
import { cost, issuePlaces } from './preflight-more.ts'

export const preflightChecks: ChecksOf<'preflight'> = {
  'server.preflight.runnable': async (t) => {
    const { id, etag } = await workflow(t, 'greeting')
    const summary = await preflight(t, { workflow_id: id, workflow_etag: etag, inputs: { name: 'Ada' } })
    const right = summary.runnable === true && errorsIn(summary).length === 0
    expect(
      right && summary.workflow_id === id && summary.workflow_etag === etag,
      'it is not runnable, or of another workflow',
      {},
      summary,
    )
  },
  'server.preflight.runnable-follows-issues': async (t) => {
    const findings = new Findings()
    const { id } = await workflow(t, 'limits')
    for (const inputs of [{ count: 3 }, {}, { count: 'x' }, { count: 9 }, { count: 1, odd: 1 }]) {
      const summary = await preflight(t, { workflow_id: id, inputs })
      const right = summary.runnable === (errorsIn(summary).length === 0)
      findings.see(right, () => ({
        finding: 'runnable does not follow the issues',
        request: { inputs },
        answer: summary,
      }))
    }
    findings.settle('')
  },
  'server.preflight.unknown-input': issue('greeting', { name: 'Ada', odd: 1 }, 'unknown_input'),
  'server.preflight.missing-input': issue('greeting', {}, 'missing_input'),
  'server.preflight.input-type': issue('limits', { count: 'many' }, 'input_type_mismatch'),
  'server.preflight.input-limits': async (t) => {
    await issue('limits', { count: 0 }, 'input_below_minimum')(t)
    await issue('limits', { count: 6 }, 'input_above_maximum')(t)
    const { id } = await workflow(t, 'limits')
    for (const count of [1, 5]) {
      const summary = await preflight(t, { workflow_id: id, inputs: { count } })
      expect(summary.runnable === true, 'a limit itself is refused', { count }, summary)
    }
  },
  'server.preflight.etag': async (t) => {
    const { id } = await workflow(t, 'greeting')
    const summary = await preflight(t, { workflow_id: id, workflow_etag: 'conformance', inputs: { name: 'Ada' } })
    expectIssue(summary, 'workflow_etag_mismatch', {})
    expect(summary.runnable === false, 'it is runnable with another etag', {}, summary)
  },
  'server.preflight.graph-issues': async (t) => {
    const findings = new Findings()
    t.needs('preflightWorkflow')
    for (const [word, graph] of Object.entries(broken)) {
      const { id } = await ownWorkflow(t, word, graph)
      const summary = await preflight(t, { workflow_id: id, inputs: { name: 'Ada' } })
      const told = namesOf(errorsIn(summary), 'code').includes(`graph_${word}`) && summary.runnable === false
      findings.see(told, () => ({ finding: `graph_${word} is no issue`, request: { graph }, answer: summary }))
    }
    findings.settle('')
  },
  'server.preflight.availability': availability,
  'server.preflight.targets': targets,
  'server.preflight.assets': async (t) => {
    const { id } = await workflow(t, 'anything')
    const inputs = { value: { pictures: [{ of: 'asset://conformance-unknown' }] } }
    const summary = await preflight(t, { workflow_id: id, level: 'availability', inputs })
    const assets = listOf(summary.requirements)
      .map(mapOf)
      .filter(({ kind }) => kind === 'asset')
    const right = assets.length === 1 && assets[0]!.status !== 'available'
    expect(right, 'a nested reference to no asset is no requirement that is missing', { inputs }, summary)
  },
  'server.preflight.not-found': async (t) => {
    t.needs('preflightWorkflow')
    const answers: Answer[] = []
    for (const workflow_id of ['conformance-unknown', '../x', '%00', 'x'.repeat(512)]) {
      answers.push(await t.call('preflightWorkflow', {}, { json: { workflow_id } }))
    }
    const findings = new Findings()
    for (const answer of answers) {
      const right = answer.status === 404 && mapOf(answer.body).code === 'WORKFLOW_NOT_FOUND'
      const finding = 'no workflow is not the same WORKFLOW_NOT_FOUND'
      findings.see(right && same(answer.body, answers[0]!.body), () => ({ finding, ...shown(answer) }))
    }
    findings.settle('')
  },
  'server.preflight.issue-places': issuePlaces,
  'server.preflight.cost': cost,
  'server.preflight.no-trace': noTrace,
  'server.preflight.same-over-socket': async (t) => {
    t.needs('preflightWorkflow')
    t.needsCommands('preflight_workflow')
    const { id } = await workflow(t, 'limits')
    const socket = await t.socket()
    for (const data of [
      { workflow_id: id, inputs: { count: 7, odd: 1 } },
      { workflow_id: id, level: 'availability' },
    ]) {
      const summary = await preflight(t, data)
      const reply = await socket.ask('preflight_workflow', data)
      expect(same(summary, reply.result), 'the socket answers another preflight', data, {
        http: summary,
        socket: reply,
      })
    }
  },
}

async function preflight(t: Trial, json: JsonMap): Promise<JsonMap> {
  t.needs('preflightWorkflow')
  return mapOf((await t.good('preflightWorkflow', 200, {}, { json })).body)
}

function errorsIn(summary: JsonMap): JsonMap[] {
  return listOf(summary.issues)
    .map(mapOf)
    .filter(({ severity }) => severity === 'error')
}

function expectIssue(summary: JsonMap, code: string, inputs: JsonMap): void {
  expect(namesOf(errorsIn(summary), 'code').includes(code), `${code} is no issue`, { inputs }, summary)
}

function issue(name: 'greeting' | 'limits', inputs: JsonMap, code: string): Check {
  return async (t) => {
    const { id } = await workflow(t, name)
    expectIssue(await preflight(t, { workflow_id: id, inputs }), code, inputs)
  }
}

async function availability(t: Trial): Promise<void> {
  const { id } = await workflow(t, 'anything')
  const inputs = { value: ['asset://conformance-b', { asset_id: 'conformance-a' }, 'asset://conformance-b'] }
  const summary = await preflight(t, { workflow_id: id, level: 'availability', inputs })
  const requirements = listOf(summary.requirements).map(mapOf)
  const keys = requirements.map(({ kind, id: one }) => `${String(kind)} ${String(one)}`)
  const sorted = [...new Set(keys)].sort()
  expect(same(keys, sorted), 'requirements are not sorted by kind and id, each once', { inputs }, summary)
  const blocked = requirements.some(({ blocking, status }) => blocking === true && status !== 'available')
  const runnable = errorsIn(summary).length === 0 && !blocked
  expect(summary.runnable === runnable, 'runnable does not follow the requirements', { inputs }, summary)
}

async function targets(t: Trial): Promise<void> {
  const { id } = await workflow(t, 'greeting')
  const findings = new Findings()
  for (const execution_target of [
    { kind: 'worker', worker_id: 'conformance-unknown' },
    { kind: 'runner', runner_id: 'conformance-unknown' },
  ]) {
    const request = { workflow_id: id, level: 'execution', inputs: { name: 'Ada' }, execution_target }
    const summary = await preflight(t, request)
    const worker = listOf(summary.requirements)
      .map(mapOf)
      .find(({ kind }) => kind === 'worker')
    const right = summary.runnable === false && worker !== undefined && worker.status !== 'available'
    findings.see(right, () => ({
      finding: 'a target that is not there is no missing worker',
      request,
      answer: summary,
    }))
  }
  const local = await preflight(t, {
    workflow_id: id,
    level: 'execution',
    inputs: { name: 'Ada' },
    execution_target: { kind: 'local' },
  })
  findings.see(local.runnable === true, () => ({ finding: 'it is not runnable here', answer: local }))
  findings.settle('')
}

async function noTrace(t: Trial): Promise<void> {
  const { id, etag } = await workflow(t, 'greeting')
  const lists = (['listJobs', 'listWorkflows', 'listAssets'] as const).filter((list) => t.serves(list))
  if (lists.length === 0) throw new Skip('the server claims no list of jobs, workflows or assets')
  const state = async () => {
    const bodies: unknown[] = []
    for (const list of lists) bodies.push((await t.good(list, 200)).body)
    return bodies
  }
  const before = await state()
  for (const level of ['static', 'availability', 'execution']) {
    await preflight(t, { workflow_id: id, workflow_etag: etag, level, inputs: { name: 'Ada' } })
  }
  expect(same(await state(), before), `a preflight has changed ${lists.join(', ')}`, { workflow_id: id })
}
