/** The typed client: one function a route, and a stream of events that resumes by itself. For Node and for browsers. */
export { type Client, ClientError, type ClientOptions, createClient } from '../src/api/client.ts'
export type { Event } from '../src/api/events.ts'
export { type Followed, type FollowOptions, follow } from './follow.ts'
