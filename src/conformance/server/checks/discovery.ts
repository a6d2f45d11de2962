// Checks of discovery: summaries, interfaces and the inventory of types, over both transports.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { storeOwnWorkflow, storeSampleWorkflow } from '../job-actions.ts'
import { isSameJson, type JsonMap, listOf, mapOf, pluckTexts } from '../json.ts'
import { brokenGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'

export const discoveryChecks: AreaChecks<'discovery'> = {
  'server.discovery.summaries': async (t) => {
    t.requireOperations('listWorkflowSummaries')
    const made = [
      await storeSampleWorkflow(t, 'greeting'),
      await storeSampleWorkflow(t, 'waiting'),
      await storeSampleWorkflow(t, 'limits'),
    ]
    const all = await listAllPages(t, 'listWorkflowSummaries', 'limit=2', 'workflows', 'next')
    const ids = pluckTexts(all, 'id')
    expect(new Set(ids).size === ids.length, 'a workflow is listed twice', { limit: 2 }, ids)
    const missing = made.filter(({ id }) => !ids.includes(id))
    expect(missing.length === 0, 'a workflow is not listed', { missing: pluckTexts(missing, 'id') }, ids)
    for (const { id, etag } of made) {
      const summary = all.find((one) => one.id === id)
      expect(summary?.revision === etag, 'a revision differs from the etag of its workflow', { id, etag }, summary)
    }
  },
  'server.discovery.interfaces': async (t) => {
    t.requireOperations('getWorkflowInterfaces')
    const [first, second] = [await storeSampleWorkflow(t, 'greeting'), await storeSampleWorkflow(t, 'limits')]
    const json = { ids: [second.id, 'conformance-unknown', first.id] }
    const answer = await t.callExpecting('getWorkflowInterfaces', 200, {}, { json })
    const { interfaces, errors } = mapOf(answer.body)
    const right = isSameJson(pluckTexts(interfaces, 'workflow_id'), [second.id, first.id])
    expect(right, 'the interfaces differ from the requested ones, or have another order', json, answer.body)
    const [error] = listOf(errors).map(mapOf)
    const told = error?.workflow_id === 'conformance-unknown' && error.code === 'workflow_not_found'
    expect(told, 'an unknown workflow is not reported', json, answer.body)
  },
  'server.discovery.interface-etag': async (t) => {
    t.requireOperations('getWorkflowInterface')
    const [greeting, waiting] = [await storeSampleWorkflow(t, 'greeting'), await storeSampleWorkflow(t, 'waiting')]
    const strict = mapOf((await t.callExpecting('getWorkflowInterface', 200, { values: { id: greeting.id } })).body)
    const lenient = mapOf((await t.callExpecting('getWorkflowInterface', 200, { values: { id: waiting.id } })).body)
    expect(strict.etag === greeting.etag, 'the interface has another etag than its workflow', greeting.record, strict)
    const [wanted, free] = [strict, lenient].map((one) => mapOf(listOf(one.inputs)[0]).required)
    expect(
      wanted === true && free === false,
      'required does not say whether a value must be given',
      {},
      { strict, lenient },
    )
    const { id } = await storeOwnWorkflow(t, 'broken', brokenGraphs.unknown_handle)
    const answer = await t.call('getWorkflowInterface', { values: { id } })
    const { request, answer: got } = toEvidenceParts(answer)
    const told = answer.status === 200 && listOf(mapOf(answer.body).diagnostics).length > 0
    expect(told || answer.status === 422, 'the interface does not report what is wrong with a graph', request, got)
  },
  'server.discovery.node-types': async (t) => {
    t.requireOperations('listNodeTypes')
    const whole = mapOf((await t.callExpecting('listNodeTypes', 200, { query: 'limit=100' })).body)
    const first = mapOf((await t.callExpecting('listNodeTypes', 200, { query: 'limit=1' })).body)
    const types = await listAllPages(t, 'listNodeTypes', 'limit=3', 'types', 'next_cursor')
    const signatures = pluckTexts(types, 'signature')
    const sorted = [...new Set(signatures)].sort()
    expect(isSameJson(signatures, sorted), 'signatures are not sorted, or are duplicated', {}, signatures)
    const counted = [whole, first].every(({ type_count }) => type_count === signatures.length)
    expect(counted, 'type_count is not the number of types', whole, signatures.length)
  },
  'server.discovery.same-over-socket': checkDiscoveryOverSocket,
}

async function listAllPages(
  t: SuiteContext,
  operation: 'listWorkflowSummaries' | 'listNodeTypes',
  query: string,
  list: string,
  next: string,
): Promise<JsonMap[]> {
  const found: JsonMap[] = []
  const seen = new Set<unknown>()
  for (let cursor: unknown = null; ; ) {
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(String(cursor))}`
    const page = mapOf((await t.callExpecting(operation, 200, { query: query + more })).body)
    found.push(...listOf(page[list]).map(mapOf))
    cursor = page[next] ?? null
    if (cursor === null) return found
    expect(!seen.has(cursor), 'a page returns its own cursor as the next one', { cursor }, page)
    seen.add(cursor)
  }
}

async function checkDiscoveryOverSocket(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const { id } = await storeSampleWorkflow(t, 'greeting')
  await storeSampleWorkflow(t, 'waiting')
  const socket = await t.openSocket()
  const pairs: [boolean, () => Promise<SuiteAnswer>, string, JsonMap][] = [
    [
      t.hasOperation('listWorkflowSummaries') && t.hasCommand('list_workflow_summaries'),
      () => t.call('listWorkflowSummaries', { query: 'limit=1' }),
      'list_workflow_summaries',
      { limit: 1 },
    ],
    [
      t.hasOperation('getWorkflowInterfaces') && t.hasCommand('get_workflow_interfaces'),
      () => t.call('getWorkflowInterfaces', {}, { json: { ids: [id, 'conformance-unknown'] } }),
      'get_workflow_interfaces',
      { ids: [id, 'conformance-unknown'] },
    ],
    [
      t.hasOperation('listNodeTypes') && t.hasCommand('get_node_type_inventory'),
      () => t.call('listNodeTypes', { query: 'limit=2&cursor=1' }),
      'get_node_type_inventory',
      { limit: 2, cursor: 1 },
    ],
    [
      t.hasOperation('getWorkflowInterface') && t.hasCommand('get_workflow_interface'),
      () => t.call('getWorkflowInterface', { values: { id } }),
      'get_workflow_interface',
      { id },
    ],
  ]
  for (const [claimed, call, command, data] of pairs) {
    if (!claimed) continue
    const { body } = await call()
    const reply = await socket.request(command, data)
    findings.addCase(isSameJson(body, reply.result), () => ({
      finding: `${command} answers differently from its HTTP operation`,
      request: data,
      answer: { http: body, socket: reply },
    }))
  }
  findings.throwIfBroken('the server claims no such pair')
}
