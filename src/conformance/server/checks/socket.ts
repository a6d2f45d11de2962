// General checks of the socket: encodings, frames, RPCs and invalid input.

import { CheckFindings, expect } from '../check-outcomes.ts'
import type { JsonMap } from '../json.ts'
import type { WsCommandName } from '../server-claims.ts'
import type { AreaChecks } from './check-types.ts'
import { invalidInputChecks } from './invalid-socket-input.ts'
import { checkKeepAlive } from './keep-alive.ts'
import { checkSingleReply } from './single-reply.ts'
import { findErrorFault, findFrameFault, listClaimedRpcs } from './socket-commands.ts'
import {
  checkFrameEncodings,
  checkInvalidRpcData,
  checkModeChange,
  checkRpcResults,
  createFrameCheck,
} from './socket-replies.ts'

export const socketChecks: AreaChecks<'socket'> = {
  'server.socket.messagepack-first': async (t) => {
    const socket = await t.openSocket()
    await socket.request('ping', undefined, 'text')
    await socket.request('ping')
    expect(
      socket.frames.every(({ binary }) => binary),
      'a frame is text, though no mode was set',
    )
  },
  'server.socket.set-mode': async (t) => {
    const socket = await t.openSocket()
    await checkModeChange(socket, 'text', true)
    await checkModeChange(socket, 'binary', false)
    await socket.waitUntilAnswered()
    expect(socket.frames.at(-1)!.binary, 'after the mode binary a frame is text')
    await checkFrameEncodings(t)
  },
  'server.socket.both-encodings-in': async (t) => {
    const socket = await t.openSocket()
    for (const mode of ['text', 'binary'] as const) {
      await socket.request('set_mode', { mode })
      await socket.request('ping', undefined, 'binary')
      await socket.request('ping', undefined, 'text')
    }
  },
  'server.socket.plain-messagepack': createFrameCheck((frame) => (frame.fault === null ? null : frame.fault)),
  'server.socket.frames': createFrameCheck(({ body, fault }) => (fault === null ? findFrameFault(body) : null)),
  'server.socket.one-reply': checkSingleReply,
  'server.socket.keep-alive': checkKeepAlive,
  'server.socket.rpc-results': checkRpcResults,
  'server.socket.rpc-errors': async (t) => {
    const socket = await t.openSocket()
    const replies = [await socket.request('conformance_unknown')]
    for (const command of listClaimedRpcs(t)) replies.push(await socket.request(command, { conformance_unknown: 1 }))
    const findings = new CheckFindings()
    for (const reply of replies) {
      const fault = findErrorFault(reply)
      findings.addCase(fault === null, () => ({ finding: fault!, answer: reply }))
    }
    findings.throwIfBroken('')
  },
  'server.socket.rpc-invalid-data': checkInvalidRpcData,
  'server.socket.rpc-not-found': async (t) => {
    const findings = new CheckFindings()
    const cases: [WsCommandName, JsonMap, string][] = [
      ['get_workflow', { id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['get_workflow_interface', { id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['preflight_workflow', { workflow_id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['get_job_snapshot', { job_id: 'conformance-unknown' }, 'JOB_NOT_FOUND'],
      ['get_asset', { id: 'conformance-unknown' }, 'NOT_FOUND'],
    ]
    const socket = await t.openSocket()
    for (const [command, data, code] of cases.filter(([name]) => t.hasCommand(name))) {
      const reply = await socket.request(command, data)
      findings.addCase(reply.error?.code === code, () => ({
        finding: `${command} is not answered with ${code}`,
        request: data,
        answer: reply,
      }))
    }
    findings.throwIfBroken('the server claims no such RPC')
  },
  ...invalidInputChecks,
  'server.socket.null-request-id': async (t) => {
    const socket = await t.openSocket()
    socket.send({ command: 'ping', request_id: null })
    await socket.waitForFrame('a pong', ({ type }) => type === 'pong')
  },
}
