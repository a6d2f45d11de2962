// The process that works on files for a server: what hostile ones do to the libraries ends this process alone. It ends with its server.
import type { FromMedia, ToMedia } from './protocol.ts'
import { type Families, serve } from './serving.ts'

const FAMILIES: Families = {
  audio: async () => (await import('./tasks/audio.ts')).audioTasks,
  document: async () => (await import('./tasks/document.ts')).documentTasks,
  chart: async () => (await import('./tasks/chart.ts')).chartTasks,
  image: async () => (await import('./tasks/image.ts')).imageTasks,
  data: async () => (await import('./tasks/data.ts')).dataTasks,
  preview: async () => (await import('./tasks/preview.ts')).previewTasks,
  archive: async () => (await import('./tasks/archive.ts')).archiveTasks,
}

serve(FAMILIES, {
  hear: (listener) => process.on('message', (message) => listener(message as ToMedia)),
  say: (message: FromMedia) => process.send?.(message),
})
process.on('disconnect', () => process.exit())
// A terminal's Ctrl-C is for the server, which gives what runs the time to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
