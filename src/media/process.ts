// The entry point of the process that works on files. A hostile file can only crash this process. The process ends with its server.
import type { FromMediaWorker, ToMediaWorker } from './protocol.ts'
import { type MediaTaskModules, serveMediaTasks } from './task-runner.ts'

const TASK_MODULES: MediaTaskModules = {
  audio: async () => (await import('./tasks/audio/tasks.ts')).audioTasks,
  document: async () => (await import('./tasks/document/tasks.ts')).documentTasks,
  chart: async () => (await import('./tasks/chart/tasks.ts')).chartTasks,
  image: async () => (await import('./tasks/image/tasks.ts')).imageTasks,
  data: async () => (await import('./tasks/data/tasks.ts')).dataTasks,
  preview: async () => (await import('./tasks/preview.ts')).previewTasks,
  archive: async () => (await import('./tasks/archive/tasks.ts')).archiveTasks,
}

serveMediaTasks(TASK_MODULES, {
  onMessage: (listener) => process.on('message', (message) => listener(message as ToMediaWorker)),
  send: (message: FromMediaWorker) => process.send?.(message),
})
process.on('disconnect', () => process.exit())
// Ctrl-C in a terminal is for the server, which gives running work time to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
