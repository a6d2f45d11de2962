// The socket in general: encodings, frames, RPCs and bad input.
import type { WsCommandName } from '../claims.ts'
import type { JsonMap } from '../json.ts'
import { expect, Findings } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'
import { errorFault, frameFault, rpcs } from './commands.ts'
import { keepAlive } from './keep-alive.ts'
import { oneReply } from './one-reply.ts'
import { inputChecks } from './socket-input.ts'
import { encodingsKept, everyFrame, invalidData, modeIs, rpcResults } from './socket-replies.ts'

export const socketChecks: ChecksOf<'socket'> = {
  'server.socket.messagepack-first': async (t) => {
    const socket = await t.socket()
    await socket.ask('ping', undefined, 'text')
    await socket.ask('ping')
    expect(
      socket.frames.every(({ binary }) => binary),
      'a frame is text, though no mode was set',
    )
  },
  'server.socket.set-mode': async (t) => {
    const socket = await t.socket()
    await modeIs(socket, 'text', true)
    await modeIs(socket, 'binary', false)
    await socket.settled()
    expect(socket.frames.at(-1)!.binary, 'after the mode binary a frame is text')
    await encodingsKept(t)
  },
  'server.socket.both-encodings-in': async (t) => {
    const socket = await t.socket()
    for (const mode of ['text', 'binary'] as const) {
      await socket.ask('set_mode', { mode })
      await socket.ask('ping', undefined, 'binary')
      await socket.ask('ping', undefined, 'text')
    }
  },
  'server.socket.plain-messagepack': everyFrame((frame) => (frame.fault === null ? null : frame.fault)),
  'server.socket.frames': everyFrame(({ body, fault }) => (fault === null ? frameFault(body) : null)),
  'server.socket.one-reply': oneReply,
  'server.socket.keep-alive': keepAlive,
  'server.socket.rpc-results': rpcResults,
  'server.socket.rpc-errors': async (t) => {
    const socket = await t.socket()
    const replies = [await socket.ask('conformance_unknown')]
    for (const command of rpcs(t)) replies.push(await socket.ask(command, { conformance_unknown: 1 }))
    const findings = new Findings()
    for (const reply of replies) {
      const fault = errorFault(reply)
      findings.see(fault === null, () => ({ finding: fault!, answer: reply }))
    }
    findings.settle('')
  },
  'server.socket.rpc-invalid-data': invalidData,
  'server.socket.rpc-not-found': async (t) => {
    const findings = new Findings()
    const cases: [WsCommandName, JsonMap, string][] = [
      ['get_workflow', { id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['get_workflow_interface', { id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['preflight_workflow', { workflow_id: 'conformance-unknown' }, 'WORKFLOW_NOT_FOUND'],
      ['get_job_snapshot', { job_id: 'conformance-unknown' }, 'JOB_NOT_FOUND'],
      ['get_asset', { id: 'conformance-unknown' }, 'NOT_FOUND'],
    ]
    const socket = await t.socket()
    for (const [command, data, code] of cases.filter(([name]) => t.takes(name))) {
      const reply = await socket.ask(command, data)
      findings.see(reply.error?.code === code, () => ({
        finding: `${command} is no ${code}`,
        request: data,
        answer: reply,
      }))
    }
    findings.settle('the server claims no such RPC')
  },
  ...inputChecks,
  'server.socket.null-request-id': async (t) => {
    const socket = await t.socket()
    socket.send({ command: 'ping', request_id: null })
    await socket.next('a pong', ({ type }) => type === 'pong')
  },
}
