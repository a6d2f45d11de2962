// What a user of the Rust client of openapi-generator writes. Arguments: URL, token, workflow.
use openapi::apis::configuration::Configuration;
use openapi::apis::{jobs_api, workflows_api, Error};
use openapi::models::{ApiError, CreateWorkflowRequest, JobEvent, JobSnapshot, RunRequest};
use reqwest::header::{HeaderMap, HeaderValue, ACCEPT};
use reqwest::Client;
use std::collections::HashMap;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    // Without it the events are a stream of text.
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    let configuration = Configuration {
        base_path: args[1].clone(),
        bearer_access_token: Some(args[2].clone()),
        client: Client::builder().default_headers(headers).build()?,
        ..Default::default()
    };
    let workflow: CreateWorkflowRequest = serde_json::from_str(&args[3])?;
    let made = workflows_api::create_workflow(&configuration, workflow).await?;

    let params = HashMap::from([("name".to_string(), serde_json::json!("Ada"))]);
    let run = RunRequest { params: Some(Some(params)), ..RunRequest::new() };
    let result = workflows_api::run_workflow(&configuration, &made.id, run).await?;
    println!("{}", result.outputs["greeting"].as_str().unwrap());

    let jobs = jobs_api::list_jobs(&configuration, None, None, None, None).await?;
    let JobSnapshot::JobSnapshotCompleted(job) = &jobs[0] else { panic!("{:?}", jobs[0]) };
    println!("{} job {}", jobs.len(), job.status);

    let events = jobs_api::follow_job_events(&configuration, &job.job_id, Some(0), None).await?;
    match events.last() {
        Some(JobEvent::JobCompletedEvent(end)) => println!("{} {}", end.r#type, end.status),
        other => panic!("{:?}", other),
    }

    match workflows_api::get_workflow(&configuration, "wf_none").await {
        Err(Error::ResponseError(answer)) => {
            let told: ApiError = serde_json::from_str(&answer.content)?;
            println!("{} {}", told.error.code, told.error.r#type);
        }
        other => panic!("{:?}", other),
    }
    Ok(())
}
