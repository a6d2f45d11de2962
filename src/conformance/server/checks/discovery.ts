// Discovery: summaries, interfaces and the inventory of types, over both doors.
import { broken } from '../graphs.ts'
import { ownWorkflow, workflow } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, namesOf, same } from '../json.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'

export const discoveryChecks: ChecksOf<'discovery'> = {
  'server.discovery.summaries': async (t) => {
    t.needs('listWorkflowSummaries')
    const made = [await workflow(t, 'greeting'), await workflow(t, 'waiting'), await workflow(t, 'limits')]
    const all = await paged(t, 'listWorkflowSummaries', 'limit=2', 'workflows', 'next')
    const ids = namesOf(all, 'id')
    expect(new Set(ids).size === ids.length, 'a workflow is listed twice', { limit: 2 }, ids)
    const missing = made.filter(({ id }) => !ids.includes(id))
    expect(missing.length === 0, 'a workflow is not listed', { missing: namesOf(missing, 'id') }, ids)
    for (const { id, etag } of made) {
      const summary = all.find((one) => one.id === id)
      expect(summary?.revision === etag, 'a revision is not the etag of its workflow', { id, etag }, summary)
    }
  },
  'server.discovery.interfaces': async (t) => {
    t.needs('getWorkflowInterfaces')
    const [first, second] = [await workflow(t, 'greeting'), await workflow(t, 'limits')]
    const json = { ids: [second.id, 'conformance-unknown', first.id] }
    const answer = await t.good('getWorkflowInterfaces', 200, {}, { json })
    const { interfaces, errors } = mapOf(answer.body)
    const right = same(namesOf(interfaces, 'workflow_id'), [second.id, first.id])
    expect(right, 'the interfaces are not those that were asked for, in their order', json, answer.body)
    const [error] = listOf(errors).map(mapOf)
    const told = error?.workflow_id === 'conformance-unknown' && error.code === 'workflow_not_found'
    expect(told, 'an unknown workflow is not told of', json, answer.body)
  },
  'server.discovery.interface-etag': async (t) => {
    t.needs('getWorkflowInterface')
    const [greeting, waiting] = [await workflow(t, 'greeting'), await workflow(t, 'waiting')]
    const strict = mapOf((await t.good('getWorkflowInterface', 200, { values: { id: greeting.id } })).body)
    const lenient = mapOf((await t.good('getWorkflowInterface', 200, { values: { id: waiting.id } })).body)
    expect(strict.etag === greeting.etag, 'the interface has another etag than its workflow', greeting.record, strict)
    const [wanted, free] = [strict, lenient].map((one) => mapOf(listOf(one.inputs)[0]).required)
    expect(wanted === true && free === false, 'required is not whether a value must be given', {}, { strict, lenient })
    const { id } = await ownWorkflow(t, 'broken', broken.unknown_handle)
    const answer = await t.call('getWorkflowInterface', { values: { id } })
    const { request, answer: got } = shown(answer)
    const told = answer.status === 200 && listOf(mapOf(answer.body).diagnostics).length > 0
    expect(told || answer.status === 422, 'nothing tells what is wrong with a graph', request, got)
  },
  'server.discovery.node-types': async (t) => {
    t.needs('listNodeTypes')
    const whole = mapOf((await t.good('listNodeTypes', 200, { query: 'limit=100' })).body)
    const first = mapOf((await t.good('listNodeTypes', 200, { query: 'limit=1' })).body)
    const types = await paged(t, 'listNodeTypes', 'limit=3', 'types', 'next_cursor')
    const signatures = namesOf(types, 'signature')
    const sorted = [...new Set(signatures)].sort()
    expect(same(signatures, sorted), 'signatures are not sorted, or come twice', {}, signatures)
    const counted = [whole, first].every(({ type_count }) => type_count === signatures.length)
    expect(counted, 'type_count is not how many there are', whole, signatures.length)
  },
  'server.discovery.same-over-socket': discoveryOverSocket,
}

async function paged(
  t: Trial,
  operation: 'listWorkflowSummaries' | 'listNodeTypes',
  query: string,
  list: string,
  next: string,
): Promise<JsonMap[]> {
  const found: JsonMap[] = []
  const seen = new Set<unknown>()
  for (let cursor: unknown = null; ; ) {
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(String(cursor))}`
    const page = mapOf((await t.good(operation, 200, { query: query + more })).body)
    found.push(...listOf(page[list]).map(mapOf))
    cursor = page[next] ?? null
    if (cursor === null) return found
    expect(!seen.has(cursor), 'a cursor leads to itself', { cursor }, page)
    seen.add(cursor)
  }
}

async function discoveryOverSocket(t: Trial): Promise<void> {
  const findings = new Findings()
  const { id } = await workflow(t, 'greeting')
  await workflow(t, 'waiting')
  const socket = await t.socket()
  const pairs: [boolean, () => Promise<Answer>, string, JsonMap][] = [
    [
      t.serves('listWorkflowSummaries') && t.takes('list_workflow_summaries'),
      () => t.call('listWorkflowSummaries', { query: 'limit=1' }),
      'list_workflow_summaries',
      { limit: 1 },
    ],
    [
      t.serves('getWorkflowInterfaces') && t.takes('get_workflow_interfaces'),
      () => t.call('getWorkflowInterfaces', {}, { json: { ids: [id, 'conformance-unknown'] } }),
      'get_workflow_interfaces',
      { ids: [id, 'conformance-unknown'] },
    ],
    [
      t.serves('listNodeTypes') && t.takes('get_node_type_inventory'),
      () => t.call('listNodeTypes', { query: 'limit=2&cursor=1' }),
      'get_node_type_inventory',
      { limit: 2, cursor: 1 },
    ],
    [
      t.serves('getWorkflowInterface') && t.takes('get_workflow_interface'),
      () => t.call('getWorkflowInterface', { values: { id } }),
      'get_workflow_interface',
      { id },
    ],
  ]
  for (const [claimed, call, command, data] of pairs) {
    if (!claimed) continue
    const { body } = await call()
    const reply = await socket.ask(command, data)
    findings.see(same(body, reply.result), () => ({
      finding: `${command} answers otherwise than its HTTP twin`,
      request: data,
      answer: { http: body, socket: reply },
    }))
  }
  findings.settle('the server claims no such pair')
}
