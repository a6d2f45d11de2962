// The socket channels by path.
import { commandManifest } from '../../generated/messages.ts'
import { commandValidators } from '../../generated/validators.js'
import { downloadCommandHandlers, followDownloads } from './commands/download-commands.ts'
import { wsCommandHandlers } from './commands/ws-commands.ts'
import type { SocketChannel } from './socket-channel.ts'

const CHANNELS: ReadonlyMap<string, SocketChannel> = new Map<string, SocketChannel>([
  [
    '/ws',
    {
      name: 'ws',
      commands: commandManifest.ws,
      validators: commandValidators.ws,
      handlers: wsCommandHandlers,
      text_only: false,
    },
  ],
  [
    '/ws/download',
    {
      name: 'download',
      commands: commandManifest.download,
      validators: commandValidators.download,
      handlers: downloadCommandHandlers,
      text_only: true,
      onOpen: followDownloads,
    },
  ],
])

export function findChannel(path: string): SocketChannel | undefined {
  return CHANNELS.get(path)
}
