// Checks of RPCs and frames of the socket: answers to valid and invalid data, and the schema of every frame.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { asyncapiDocument, createInvalidInstances, resolveSchema } from '../contract-schemas.ts'
import { mapOf } from '../json.ts'
import { observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { SuiteSocket } from '../suite-socket.ts'
import {
  createValidData,
  findCommandMessage,
  findFrameFault,
  listClaimedRpcs,
  readExampleData,
} from './socket-commands.ts'

export async function checkModeChange(socket: SuiteSocket, mode: 'text' | 'binary', binary: boolean): Promise<void> {
  const request_id = `conformance-mode-${mode}`
  socket.send({ command: 'set_mode', data: { mode }, request_id })
  await socket.waitForFrame('the acknowledgement of set_mode', (frame) => frame.mode === mode)
  const at = socket.frames.findIndex(({ body }) => body.mode === mode)
  expect(socket.frames[at]!.binary === binary, 'the acknowledgement of set_mode has the new encoding', { mode })
  await socket.waitUntilAnswered()
  const after = socket.frames.slice(at + 1)
  expect(
    after.length > 0 && after.every((frame) => frame.binary !== binary),
    'a frame after set_mode has the old encoding',
    { mode },
  )
}

/** Every frame of every socket has the encoding that was acknowledged last before it. */
export async function checkFrameEncodings(t: SuiteContext): Promise<void> {
  await observeCompletedRun(t).catch(() => {})
  const findings = new CheckFindings()
  for (const { frames } of t.sockets) {
    let binary = true
    for (const frame of frames) {
      const finding = `a frame is ${frame.binary ? 'binary' : 'text'} where the mode is ${binary ? 'binary' : 'text'}`
      findings.addCase(frame.binary === binary, () => ({ finding, answer: frame.body }))
      const { mode, type } = frame.body
      if (type === undefined && (mode === 'text' || mode === 'binary')) binary = mode === 'binary'
    }
  }
  findings.throwIfBroken('no frame was seen')
}

export function createFrameCheck(fault: (frame: SuiteSocket['frames'][number]) => string | null) {
  return async (t: SuiteContext) => {
    await checkRpcResults(t).catch(() => {})
    await observeCompletedRun(t).catch(() => {})
    const findings = new CheckFindings()
    for (const frame of t.sockets.flatMap(({ frames }) => frames)) {
      const found = fault(frame)
      findings.addCase(found === null, () => ({ finding: found!, answer: frame.body }))
    }
    findings.throwIfBroken('no frame was seen')
  }
}

/** Sends a valid command of each claimed RPC: the example, with ids that exist. */
export async function checkRpcResults(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const socket = await t.openSocket()
  for (const command of listClaimedRpcs(t)) {
    const data = await createValidData(t, command)
    if (data === null) continue
    const reply = await socket.request(command, data)
    const fault = reply.error === undefined ? findFrameFault(reply) : `the command is refused: ${reply.error.code}`
    findings.addCase(fault === null, () => ({ finding: `${command}: ${fault}`, request: data, answer: reply }))
  }
  findings.throwIfBroken('the server claims no RPC')
}

export async function checkInvalidRpcData(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  for (const command of listClaimedRpcs(t)) {
    const socket = await t.openSocket()
    const { properties } = resolveSchema(findCommandMessage(command).payload, asyncapiDocument)
    const wrong = createInvalidInstances(mapOf(properties).data, readExampleData(command), asyncapiDocument).filter(
      ({ at }) => at !== '',
    )
    for (const { at, kind, value } of wrong.slice(0, 100)) {
      const reply = await socket.request(command, value)
      const right = reply.type === 'rpc_response' && reply.error?.code === 'INVALID_REQUEST'
      findings.addCase(right, () => ({ finding: `${command} accepts ${kind} at ${at}`, request: value, answer: reply }))
    }
    socket[Symbol.dispose]()
  }
  findings.throwIfBroken('the server claims no RPC')
}
