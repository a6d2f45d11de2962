// The entry point of a worker thread: lowers its own priority before it loads the engine, as code can end workers as fast as they start.
import { lowerCurrentThread } from '../shared/thread-priority.ts'

const thread = lowerCurrentThread()
const { serve } = await import('./script-runner.ts')
serve(thread)
