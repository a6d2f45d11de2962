// What a thread that computes starts with: it lowers its own priority before it reads the node types.
import { lowerCurrentThread } from '../shared/thread-priority.ts'

const thread = lowerCurrentThread()
const { serve } = await import('./task-runner.ts')
serve(thread)
