// The sockets that are served, by their paths.
import { commandManifest } from '../../generated/messages.ts'
import { commandValidators } from '../../generated/validators.js'
import type { Channel } from './channel.ts'
import { downloads, followDownloads } from './download.ts'
import { handlers } from './ws.ts'

const CHANNELS: ReadonlyMap<string, Channel> = new Map<string, Channel>([
  ['/ws', { name: 'ws', commands: commandManifest.ws, validators: commandValidators.ws, handlers, text_only: false }],
  [
    '/ws/download',
    {
      name: 'download',
      commands: commandManifest.download,
      validators: commandValidators.download,
      handlers: downloads,
      text_only: true,
      opened: followDownloads,
    },
  ],
])

export function channelAt(path: string): Channel | undefined {
  return CHANNELS.get(path)
}
