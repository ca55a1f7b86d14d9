export type { LocalImage } from './container-launch.ts';
export { type Ecs, type EcsOptions, openEcs, type RunningTask } from './open-ecs.ts';
export type { RunTaskRequest } from './run-task-request.ts';
export type { TaskStateChange } from './task-events.ts';
