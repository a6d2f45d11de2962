// A compute worker whose thread ends when its input text says so.
import { parentPort } from 'node:worker_threads'
import type { ToComputeWorker } from '../../src/compute/worker-protocol.ts'

parentPort!.on('message', (message: ToComputeWorker) => {
  if (JSON.stringify(message.ops).includes('end this thread')) process.exit(3)
})

await import('../../src/compute/worker.ts')
