// A worker that computes, and whose thread ends by itself where the text that it is given says so.
import { parentPort } from 'node:worker_threads'
import type { ToComputeWorker } from '../../src/compute/worker-protocol.ts'

parentPort!.on('message', (message: ToComputeWorker) => {
  if (JSON.stringify(message.ops).includes('end this thread')) process.exit(3)
})

await import('../../src/compute/worker.ts')
