// Executes the command of a large message: it is validated in a worker, and parsed in time slices once there is memory for its value.
import type { CommandInfo } from '../../../generated/messages.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import { FrameDecodeError } from '../../payloads/frame-decoder.ts'
import { parseJsonSteps } from '../../payloads/incremental-json-parser.ts'
import { decodeMessagePackSteps } from '../../payloads/incremental-message-pack-decoder.ts'
import { toCommandError } from '../command-errors.ts'
import type { CommandConnection } from '../commands/command-connection.ts'
import { acceptCommand, executeCommand, refuseUnreadableCommand } from '../commands/dispatch.ts'
import type { SocketChannel } from '../socket-channel.ts'

type SocketMessage = Record<string, unknown>

/** A command that is accepted by its head, and not yet parsed. */
interface UnparsedCommand {
  readonly owner: string
  readonly info: CommandInfo
  readonly head: SocketMessage
  /** Estimated bytes of the parsed message. */
  readonly memory_bytes: number
}

/** @throws FrameDecodeError, REQUEST_TOO_LARGE */
export async function executeLargeMessage(
  channel: SocketChannel,
  connection: CommandConnection & { readonly isOpen: boolean },
  data: Buffer,
  binary: boolean,
): Promise<void> {
  const { payloads } = connection.app.transport
  const owner = userShareKey(connection.principal)
  const { verdict, bytes } = await payloads.validateFrame(owner, { channel: channel.name, binary, bytes: data })
  if (verdict.kind === 'unreadable') throw new FrameDecodeError(verdict.message)
  const { problems, inexact, memory_bytes } = verdict
  const info = acceptCommand(channel, connection, verdict.head, () => (problems.length > 0 ? problems : inexact))
  if (!info) return
  const head = verdict.head as SocketMessage
  const release = await reserveMemory(connection, { owner, info, head, memory_bytes })
  if (!release) return
  const message = await parse(connection, owner, bytes, binary).catch((error) => {
    release()
    throw error
  })
  // Jobs and turns may keep parts of the message.
  payloads.memory.releaseOnCollection(findLargestPart(message), release)
  // The credential may have ended meanwhile.
  if (connection.isOpen) executeCommand(channel, connection, message, info)
}

/** Null if there is no memory in time; the command is then refused. */
async function reserveMemory(
  connection: CommandConnection,
  { owner, info, head, memory_bytes }: UnparsedCommand,
): Promise<(() => void) | null> {
  try {
    return await connection.app.transport.payloads.memory.take(owner, memory_bytes)
  } catch (error) {
    refuseUnreadableCommand(connection, head, info, toCommandError(connection, error))
    return null
  }
}

function parse({ app }: CommandConnection, owner: string, bytes: Buffer, binary: boolean): Promise<SocketMessage> {
  const steps = binary ? decodeMessagePackSteps(bytes) : parseJsonSteps(bytes)
  return app.schedulers.slices.run(owner, makeMeasuredSteps<unknown>(steps)) as Promise<SocketMessage>
}

/** The part of a message that lives as long as its large values: the parameters of a run outlive the message. */
function findLargestPart(message: SocketMessage): object {
  const { data } = message
  const { params } = (data ?? {}) as SocketMessage
  return [params, data].find((part): part is object => typeof part === 'object' && part !== null) ?? message
}
