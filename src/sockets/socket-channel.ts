// What one kind of socket is made of: its commands, what carries them out, and how its frames travel.
import type { CommandInfo } from '../../generated/messages.ts'
import type { commandValidators, Validate } from '../../generated/validators.js'
import type { CommandConnection } from './commands/command-connection.ts'

export interface SocketChannel {
  readonly name: keyof typeof commandValidators
  readonly commands: Readonly<Record<string, CommandInfo>>
  readonly validators: Readonly<Record<string, Validate>>
  /** A table that the contract types, by command. */
  readonly handlers: object
  /** Frames are JSON in text frames, and nothing else. */
  readonly text_only: boolean
  /** Told when a socket has opened. */
  onOpen?(connection: CommandConnection): void
}
