// A media process whose tasks misbehave as hostile files could make them.

import { MediaFault } from '../../src/media/fault.ts'
import type { FromMediaWorker, ToMediaWorker } from '../../src/media/protocol.ts'
import { type MediaTaskHandlers, serveMediaTasks } from '../../src/media/task-runner.ts'

const kept: unknown[] = []

const tasks: MediaTaskHandlers = {
  'faulty.echo': (files, params) => ({ files, value: { params, pid: process.pid } }),
  'faulty.refuse': () => {
    throw new MediaFault('bad_file', 'The file is damaged.')
  },
  'faulty.throw': () => {
    throw new TypeError('a defect of ours')
  },
  'faulty.hang': () => {
    for (;;);
  },
  'faulty.wait': () => new Promise(() => {}),
  'faulty.abort': () => process.abort(),
  'faulty.exit': () => process.exit(3),
  // Takes memory outside of the heap, as native code and WebAssembly do.
  'faulty.grow': async () => {
    for (;;) {
      kept.push(Buffer.alloc(16 * 1024 * 1024, kept.length + 1))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  },
  'faulty.heap': () => {
    for (;;) kept.push(new Array(100_000).fill(kept.length))
  },
}

serveMediaTasks(
  { faulty: async () => tasks },
  {
    onMessage: (listener) => process.on('message', (message) => listener(message as ToMediaWorker)),
    send: (message: FromMediaWorker) => process.send?.(message),
  },
)
process.on('disconnect', () => process.exit())
