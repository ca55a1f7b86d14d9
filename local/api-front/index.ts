export {
  type ApiFront,
  type ApiFrontOptions,
  type ApiRoute,
  startApiFront,
} from './start-api-front.ts';
