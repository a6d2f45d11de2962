// RPCs and frames of the socket: what is answered to valid and to invalid data, and that every frame is the contract's.
import { mapOf } from '../json.ts'
import { completedRun } from '../runs.ts'
import { asyncapi, mutants, resolve } from '../schemas.ts'
import type { Socket } from '../socket.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import { exampleData, frameFault, messageOf, rpcs, validData } from './commands.ts'

export async function modeIs(socket: Socket, mode: 'text' | 'binary', binary: boolean): Promise<void> {
  const request_id = `conformance-mode-${mode}`
  socket.send({ command: 'set_mode', data: { mode }, request_id })
  await socket.next('the acknowledgement of set_mode', (frame) => frame.mode === mode)
  const at = socket.frames.findIndex(({ body }) => body.mode === mode)
  expect(socket.frames[at]!.binary === binary, 'the acknowledgement of set_mode has the new encoding', { mode })
  await socket.settled()
  const after = socket.frames.slice(at + 1)
  expect(
    after.length > 0 && after.every((frame) => frame.binary !== binary),
    'a frame after set_mode has the old encoding',
    { mode },
  )
}

/** Every frame of every socket, those of jobs as well, has the encoding that was acknowledged last before it. */
export async function encodingsKept(t: Trial): Promise<void> {
  await completedRun(t).catch(() => {})
  const findings = new Findings()
  for (const { frames } of t.sockets) {
    let binary = true
    for (const frame of frames) {
      const finding = `a frame is ${frame.binary ? 'binary' : 'text'} where the mode is ${binary ? 'binary' : 'text'}`
      findings.see(frame.binary === binary, () => ({ finding, answer: frame.body }))
      const { mode, type } = frame.body
      if (type === undefined && (mode === 'text' || mode === 'binary')) binary = mode === 'binary'
    }
  }
  findings.settle('no frame was seen')
}

export function everyFrame(fault: (frame: Socket['frames'][number]) => string | null) {
  return async (t: Trial) => {
    await rpcResults(t).catch(() => {})
    await completedRun(t).catch(() => {})
    const findings = new Findings()
    for (const frame of t.sockets.flatMap(({ frames }) => frames)) {
      const found = fault(frame)
      findings.see(found === null, () => ({ finding: found!, answer: frame.body }))
    }
    findings.settle('no frame was seen')
  }
}

/** A valid command of each claimed RPC: the example, told of what exists. */
export async function rpcResults(t: Trial): Promise<void> {
  const findings = new Findings()
  const socket = await t.socket()
  for (const command of rpcs(t)) {
    const data = await validData(t, command)
    if (data === null) continue
    const reply = await socket.ask(command, data)
    const fault = reply.error === undefined ? frameFault(reply) : `it is refused: ${reply.error.code}`
    findings.see(fault === null, () => ({ finding: `${command}: ${fault}`, request: data, answer: reply }))
  }
  findings.settle('the server claims no RPC')
}

export async function invalidData(t: Trial): Promise<void> {
  const findings = new Findings()
  for (const command of rpcs(t)) {
    const socket = await t.socket()
    const { properties } = resolve(messageOf(command).payload, asyncapi)
    const wrong = mutants(mapOf(properties).data, exampleData(command), asyncapi).filter(({ at }) => at !== '')
    for (const { at, kind, value } of wrong.slice(0, 100)) {
      const reply = await socket.ask(command, value)
      const right = reply.type === 'rpc_response' && reply.error?.code === 'INVALID_REQUEST'
      findings.see(right, () => ({ finding: `${command} takes ${kind} at ${at}`, request: value, answer: reply }))
    }
    socket[Symbol.dispose]()
  }
  findings.settle('the server claims no RPC')
}
