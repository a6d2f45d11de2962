// A kind of socket: its commands, their handlers, and the form of its frames.
import type { CommandInfo } from '../../generated/messages.ts'
import type { commandValidators, Validate } from '../../generated/validators.js'
import type { CommandConnection } from './commands/command-connection.ts'

export interface SocketChannel {
  readonly name: keyof typeof commandValidators
  readonly commands: Readonly<Record<string, CommandInfo>>
  readonly validators: Readonly<Record<string, Validate>>
  /** Handlers by command. The contract gives the type of the table. */
  readonly handlers: object
  /** Whether only JSON in text frames is used. */
  readonly text_only: boolean
  /** Called when a socket has opened. */
  onOpen?(connection: CommandConnection): void
}
