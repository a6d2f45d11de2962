// A check tests one requirement. It throws where the requirement is broken or cannot be checked.
import type { ServerRequirementId } from '../../../../generated/requirements.ts'
import type { SuiteContext } from '../suite-context.ts'

export type RequirementCheck = (trial: SuiteContext) => Promise<void>

/** The ids that begin with `server.<area>.` */
type RequirementIdInArea<Area extends string> = Extract<ServerRequirementId, `server.${Area}.${string}`>

/** The checks of an area. A missing check does not compile. */
export type AreaChecks<Area extends string> = Readonly<Record<RequirementIdInArea<Area>, RequirementCheck>>
