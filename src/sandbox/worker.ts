// What a worker's thread starts with: it lowers its own priority before it reads the engine, as code can make workers end as fast as they start.
import { lowerThread } from '../thread-priority.ts'

const thread = lowerThread()
const { serve } = await import('./serving.ts')
serve(thread)
