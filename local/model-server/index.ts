export { demoScript, SCRIPTED_MODEL } from './demo-script.ts';
export { lastPrompt, type ModelRequest, toolNames, toolResults } from './model-request.ts';
export {
  addFilePatch,
  applyPatch,
  customCall,
  httpError,
  type ModelStep,
  type ModelUsage,
  message,
  type OutputItem,
  reasoning,
  respond,
  runCommand,
  say,
} from './model-step.ts';
export { SCENARIOS } from './scenarios.ts';
export {
  type ModelScript,
  type RecordedRequest,
  type ScriptedModelServer,
  type ScriptedModelServerOptions,
  type ScriptFunction,
  startScriptedModelServer,
} from './server.ts';
