// The thread that validates large bodies and frames, one by one. It returns the bytes with the verdict.
import { parentPort } from 'node:worker_threads'
import { lowerCurrentThread } from '../shared/thread-priority.ts'
import { type ValidationRequest, validateBody, validateFrame } from './body-and-frame-validation.ts'
import type { ValidationReply } from './payload-validator.ts'

lowerCurrentThread()

parentPort!.on('message', (request: ValidationRequest) => {
  const verdict = request.kind === 'body' ? validateBody(request) : validateFrame(request)
  const answer: ValidationReply = { verdict, bytes: request.bytes }
  parentPort!.postMessage(answer, [request.bytes.buffer as ArrayBuffer])
})
