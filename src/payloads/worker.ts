// The thread that judges large bodies and frames, one after the other. It gives the bytes back with the verdict.
import { parentPort } from 'node:worker_threads'
import { lowerThread } from '../thread-priority.ts'
import { judgeBody, judgeFrame, type Request } from './judge.ts'
import type { Answer } from './payload-judge.ts'

lowerThread()

parentPort!.on('message', (request: Request) => {
  const verdict = request.kind === 'body' ? judgeBody(request) : judgeFrame(request)
  const answer: Answer = { verdict, bytes: request.bytes }
  parentPort!.postMessage(answer, [request.bytes.buffer as ArrayBuffer])
})
