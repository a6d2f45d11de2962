// The entry point of a compute thread: lowers its own priority before it loads the node types.
import { lowerCurrentThread } from '../shared/thread-priority.ts'

const thread = lowerCurrentThread()
const { serve } = await import('./task-runner.ts')
serve(thread)
