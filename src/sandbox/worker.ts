// What a worker's thread starts with: it lowers its own priority before it reads the engine, as code can make workers end as fast as they start.
import { lowerCurrentThread } from '../shared/thread-priority.ts'

const thread = lowerCurrentThread()
const { serve } = await import('./script-runner.ts')
serve(thread)
