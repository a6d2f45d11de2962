// Checks of the capabilities: their record, and whether they are true.
import { schemaValidators } from '../../../../generated/validators-out.js'
import { readCapabilities } from '../capabilities.ts'
import { expect } from '../check-outcomes.ts'
import { isSameJson, listOf, mapOf } from '../json.ts'
import { observeCompletedRun } from '../observed-runs.ts'
import { readServerTime } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'

/** The largest difference between the server's two clocks, and between the server's and the suite's. */
const MAX_CLOCK_DIFFERENCE_MS = { own: 10_000, ours: 300_000 }

export const capabilityChecks: AreaChecks<'capabilities'> = {
  'server.capabilities.record': async (t) => {
    const record = await readCapabilities(t)
    expect(schemaValidators.Capabilities(record), "the capabilities do not match the contract's schema", {}, record)
  },
  'server.capabilities.same-over-socket': async (t) => {
    t.requireCommands('get_capabilities')
    const { server_time: _, ...http } = await readCapabilities(t)
    const reply = await (await t.openSocket()).request('get_capabilities')
    const { server_time: __, ...socket } = mapOf(reply.result)
    expect(isSameJson(http, socket), 'the socket returns different capabilities', { http }, reply)
  },
  'server.capabilities.batch-limit': async (t) => {
    t.requireOperations('getWorkflowInterfaces')
    const { max_rpc_batch } = mapOf((await readCapabilities(t)).limits)
    const ids = Array.from({ length: Number(max_rpc_batch) + 1 }, (_, at) => `conformance-${at}`)
    const answer = await t.call('getWorkflowInterfaces', {}, { json: { ids } })
    expect(answer.status === 400, `${ids.length} ids are answered with ${answer.status}`, { max_rpc_batch })
    await t.callExpecting('getWorkflowInterfaces', 200, {}, { json: { ids: ids.slice(1) } })
  },
  'server.capabilities.server-time': async (t) => {
    t.requireOperations('getCapabilities')
    const answer = await t.callExpecting('getCapabilities', 200)
    const { server_time } = mapOf(answer.body)
    const clock = readServerTime(answer)
    const apart = Math.abs(Date.parse(String(server_time)) - (clock ?? Date.now()))
    const near = apart <= (clock === null ? MAX_CLOCK_DIFFERENCE_MS.ours : MAX_CLOCK_DIFFERENCE_MS.own)
    expect(near, `server_time is ${apart} ms away from now`, { date: answer.headers.date }, { server_time })
  },
  'server.capabilities.limits': async (t) => {
    const { limits } = await readCapabilities(t)
    const { idempotency_retention_seconds, request_timeout_seconds, max_job_event_replay } = mapOf(limits)
    const kept = Number(idempotency_retention_seconds) >= Number(request_timeout_seconds)
    expect(kept, 'a key expires before clients give up its request', {}, limits)
    const { events } = await observeCompletedRun(t)
    const most = Number(max_job_event_replay)
    expect(events.length <= most, `${events.length} events are kept, of ${most} at most`, {}, limits)
  },
  'server.capabilities.encodings': async (t) => {
    const { supported_encodings, default_encoding } = await readCapabilities(t)
    const both = ['messagepack', 'json-text'].every((encoding) => listOf(supported_encodings).includes(encoding))
    const found = { supported_encodings, default_encoding }
    expect(both && default_encoding === 'messagepack', 'an encoding is missing, or the default is wrong', {}, found)
  },
}
